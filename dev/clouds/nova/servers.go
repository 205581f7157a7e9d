package nova

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// server is the state of a server of Nova after its last change. life.go has the changes over time.
type server struct {
	id, name string
	project  Project
	user     User
	bought
	ports    []string
	disks    []disk
	host     string
	created  time.Time
	launched time.Time
	deleting time.Time
	// soft is the time of its deletion, while it can be restored.
	soft time.Time
	// stranded is the time at which its host died; zero: the host lives.
	stranded time.Time
	// lost: its cell is down, so that listings omit it (before microversion 2.69).
	lost  bool
	off   bool
	fault *fault
	boots int
	seq   int
	// attached: the ports are bound.
	attached bool
}

// bought are the properties of the request for a server.
type bought struct {
	image    string // the ID; empty: it boots from a volume
	flavor   Flavor
	zone     string
	key      string
	metadata map[string]string
	tags     []string
	userData string // base64
	config   bool
	groups   []string
	group    string // of servers
}

// disk is a volume of a server.
type disk struct {
	volume string
	// dies: the volume is deleted with the server.
	dies bool
}

// causeLate is the time after which Nova stores the cause of a server's ERROR.
const causeLate = time.Second

// fault is the reason for which a server is in ERROR.
type fault struct {
	code    int
	message string
	at      time.Time
}

// status is Nova's status of a server at a time.
func (s server) status(c *Cloud, now time.Time) string {
	switch {
	case !s.soft.IsZero():
		return "SOFT_DELETED"
	case s.fault != nil:
		return "ERROR"
	case now.Before(s.created.Add(c.Boot)):
		return "BUILD"
	case s.off:
		return "SHUTOFF"
	}
	return "ACTIVE"
}

// updated is the time of the last write to a server that a caller can observe.
func (s server) updated() time.Time {
	switch {
	case !s.deleting.IsZero():
		return s.deleting
	case s.fault != nil:
		return s.fault.at
	}
	return s.created
}

// states are vm_state, task_state and power_state.
func (s server) states(status string) (vm string, task any, power int) {
	switch status {
	case "BUILD":
		vm, task = "building", "scheduling"
		if s.attached {
			task = "spawning"
		}
	case "ERROR":
		vm = "error"
	case "SOFT_DELETED":
		vm = "soft-delete"
	case "SHUTOFF":
		vm, power = "stopped", 4
	default:
		vm, power = "active", 1
	}
	if !s.deleting.IsZero() {
		task = "deleting"
	}
	return vm, task, power
}

// show has the form of testdata/server-get-*.json, at microversion 2.53.
func (k servers) show(s server) map[string]any {
	status := s.status(k.Cloud, k.now)
	vm, task, power := s.states(status)
	out := map[string]any{
		"id": s.id, "name": s.name, "status": status, "tenant_id": s.project.ID, "user_id": s.user.ID, "metadata": orEmpty(s.metadata),
		"hostId": "", "image": k.imageLink(s.image), "flavor": map[string]any{
			"vcpus": s.flavor.VCPUs, "ram": s.flavor.RAM, "disk": s.flavor.Disk, "ephemeral": 0, "swap": 0,
			"original_name": s.flavor.Name, "extra_specs": orEmpty(s.flavor.ExtraSpecs),
		},
		"created": stamp(s.created), "updated": stamp(s.updated()), "addresses": k.addresses(s), "accessIPv4": "", "accessIPv6": "",
		"links": k.links("servers", s.id), "OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "", "config_drive": "",
		"key_name": orNull(s.key), "OS-SRV-USG:launched_at": nil, "OS-SRV-USG:terminated_at": nil,
		"OS-EXT-SRV-ATTR:host": nil, "OS-EXT-SRV-ATTR:instance_name": "", "OS-EXT-SRV-ATTR:hypervisor_hostname": nil,
		"OS-EXT-SRV-ATTR:reservation_id": "r-" + s.id[:8], "OS-EXT-SRV-ATTR:launch_index": 0, "OS-EXT-SRV-ATTR:hostname": s.name,
		"OS-EXT-SRV-ATTR:kernel_id": "", "OS-EXT-SRV-ATTR:ramdisk_id": "", "OS-EXT-SRV-ATTR:root_device_name": nil,
		"OS-EXT-SRV-ATTR:user_data": orNull(s.userData), "OS-EXT-STS:task_state": task, "OS-EXT-STS:vm_state": vm, "OS-EXT-STS:power_state": power,
		"os-extended-volumes:volumes_attached": k.attachedTo(s), "host_status": "", "locked": false, "description": nil, "tags": orNone(s.tags),
	}
	if s.config {
		out["config_drive"] = "True"
	}
	if s.host != "" {
		out["hostId"], out["host_status"] = uuid(s.host), "UP"
		out["OS-EXT-SRV-ATTR:host"], out["OS-EXT-SRV-ATTR:hypervisor_hostname"] = s.host, s.host
		out["OS-EXT-AZ:availability_zone"], out["OS-EXT-SRV-ATTR:root_device_name"] = s.zone, "/dev/sda"
	}
	if s.host != "" || s.fault != nil {
		out["OS-EXT-SRV-ATTR:instance_name"] = "instance-" + s.id[:8]
	}
	if !s.launched.IsZero() {
		out["OS-SRV-USG:launched_at"] = micro(s.launched)
	}
	if s.fault != nil && k.now.Sub(s.fault.at) < causeLate {
		return out
	}
	if s.fault != nil {
		out["fault"] = map[string]any{"code": s.fault.code, "created": stamp(s.fault.at), "message": s.fault.message, "details": "Traceback (most recent call last): ..."}
		return out
	}
	out["progress"] = 0
	if !s.launched.IsZero() {
		out["security_groups"] = groupNames(s.groups)
	}
	return out
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func orNone[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func groupNames(names []string) []any {
	if len(names) == 0 {
		names = []string{"default"}
	}
	var out []any
	for _, n := range names {
		out = append(out, map[string]any{"name": n})
	}
	return out
}

func (k servers) links(kind, id string) []any {
	return []any{
		map[string]any{"rel": "self", "href": k.base() + "/compute/v2.1/" + kind + "/" + id},
		map[string]any{"rel": "bookmark", "href": k.base() + "/compute/" + kind + "/" + id},
	}
}

// imageLink is the link to the image, or an empty text for a server that boots from a volume.
func (k servers) imageLink(id string) any {
	if id == "" {
		return ""
	}
	return map[string]any{"id": id, "links": []any{map[string]any{"rel": "bookmark", "href": k.base() + "/compute/images/" + id}}}
}

func (k servers) attachedTo(s server) []any {
	out := []any{}
	for _, d := range s.disks {
		out = append(out, map[string]any{"id": d.volume, "delete_on_termination": d.dies})
	}
	return out
}

// addresses are those of bound ports, by the name of the network.
func (k servers) addresses(s server) map[string]any {
	byNetwork := map[string][]any{}
	for _, id := range s.ports {
		p := k.ports[id]
		if p == nil || p.device != s.id {
			continue
		}
		name := k.networkName(p.network)
		for _, ip := range p.fixed {
			byNetwork[name] = append(byNetwork[name], address(ip.address, "fixed", p.mac))
		}
		for _, f := range k.floats {
			if f.port == id {
				byNetwork[name] = append(byNetwork[name], address(f.Address, "floating", p.mac))
			}
		}
	}
	out := map[string]any{}
	for name, all := range byNetwork {
		out[name] = all
	}
	return out
}

func address(ip, kind, mac string) map[string]any {
	version := 4
	if slices.Contains([]byte(ip), ':') {
		version = 6
	}
	return map[string]any{"version": version, "addr": ip, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": mac}
}

// server is the existing server with the ID, in the caller's project.
func (k servers) server(id string) (server, bool) {
	s, ok := k.all.Get(id)
	if !ok || s.project.ID != k.token.project.ID {
		k.fail(http.StatusNotFound, "itemNotFound", "Instance "+id+" could not be found.")
		return server{}, false
	}
	return s, true
}

func (k servers) listServers() {
	q := k.r.URL.Query()
	match, err := serverFilter(q)
	if err != nil {
		k.fail(http.StatusBadRequest, "badRequest", "Invalid filter: "+err.Error())
		return
	}
	var all []server
	for _, s := range k.all.AllBehind(k.Lag()) {
		// A deleted server that can be restored is shown by its ID alone (nova.db:
		// filters.pop('soft_deleted', False)).
		if s.project.ID == k.token.project.ID && s.soft.IsZero() && !s.lost && match(s, s.status(k.Cloud, k.now)) {
			all = append(all, s)
		}
	}
	// Newest first, as Nova sorts by default.
	slices.SortFunc(all, func(a, b server) int { return b.seq - a.seq })
	page, next, ok := paged(all, q.Get("marker"), k.limit(q.Get("limit")), func(s server) string { return s.id })
	if !ok {
		k.fail(http.StatusBadRequest, "badRequest", "marker ["+q.Get("marker")+"] not found")
		return
	}
	out := []any{}
	for _, s := range page {
		row := k.show(s)
		// A real Nova shows the causes in the database of its own cell. A server without a host is in cell0.
		delete(row, "fault")
		out = append(out, row)
	}
	answer := map[string]any{"servers": out}
	if next != "" {
		answer["servers_links"] = k.next(next)
	}
	k.reply(http.StatusOK, answer)
}

// limit is the maximum size of a page.
func (k *call) limit(asked string) int {
	if n, err := strconv.Atoi(asked); err == nil && n > 0 && n < k.PageSize {
		return n
	}
	return k.PageSize
}

// next is the link to the page after the marker.
func (k *call) next(marker string) []any {
	u := *k.r.URL
	q := u.Query()
	q.Set("marker", marker)
	u.RawQuery = q.Encode()
	from := k.base()
	if k.PlainLinks {
		from = "http://" + k.r.Host
	}
	return []any{map[string]any{"rel": "next", "href": from + u.String()}}
}

// paged is the page after a marker, and the marker of the next page; empty if this is the last page.
func paged[T any](all []T, marker string, limit int, id func(T) string) (page []T, next string, ok bool) {
	if marker != "" {
		at := slices.IndexFunc(all, func(v T) bool { return id(v) == marker })
		if at < 0 {
			return nil, "", false
		}
		all = all[at+1:]
	}
	if len(all) <= limit {
		return all, "", true
	}
	return all[:limit], id(all[limit-1]), true
}

// change replaces a server by a changed copy.
func (c *Cloud) change(id string, do func(*server)) {
	c.all.Update(id, func(s server) server {
		s.metadata, s.tags = maps.Clone(s.metadata), slices.Clone(s.tags)
		do(&s)
		return s
	})
}
