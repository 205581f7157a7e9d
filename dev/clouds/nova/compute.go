package nova

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// compute serves the resources of Nova other than servers.
type compute struct{ *call }

// servers serves servers.
type servers struct{ *call }

func serveCompute(all *call) {
	k := compute{all}
	if !k.recent() {
		return
	}
	switch k.parts[0] {
	case "servers":
		servers{all}.serveServers()
	case "flavors":
		k.serveFlavors()
	case "os-availability-zone":
		k.zones()
	case "os-server-groups":
		k.serveGroups()
	case "os-keypairs":
		k.keyPairs()
	default:
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	}
}

// recent checks the microversion: later ones create servers with tags and show their flavors.
func (k compute) recent() bool {
	var major, minor int
	asked := strings.TrimPrefix(k.r.Header.Get("OpenStack-API-Version"), "compute ")
	_, _ = fmt.Sscanf(asked, "%d.%d", &major, &minor)
	k.w.Header().Set("OpenStack-API-Version", "compute "+asked)
	if major != 2 || minor < 53 || minor > 93 {
		k.fail(http.StatusNotAcceptable, "computeFault", "Version "+asked+" is not supported by this simulator. Minimum is 2.53 and maximum is 2.93.")
		return false
	}
	return true
}

func (k servers) serveServers() {
	rest := k.parts[1:]
	switch {
	case len(rest) == 0 && k.method("POST"):
		buying{k}.createServer()
	case len(rest) == 1 && rest[0] == "detail":
		k.listServers()
	case len(rest) == 0:
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	default:
		if s, ok := k.server(rest[0]); ok && !k.lost(s) {
			k.serveServer(s, rest[1:])
		}
	}
}

// lost answers for a server whose cell is down. Before microversion 2.69 the answer is an error.
func (k servers) lost(s server) bool {
	if s.lost {
		k.fail(http.StatusInternalServerError, "computeFault", "Unexpected API Error. Please report this at http://bugs.launchpad.net/nova/ and attach the Nova API log if possible.\n<class 'nova.exception.NovaException'>")
	}
	return s.lost
}

func (k servers) serveServer(s server, rest []string) {
	what := k.r.Method
	if len(rest) > 0 {
		what += " " + rest[0]
	}
	switch what {
	case "GET":
		k.reply(http.StatusOK, map[string]any{"server": k.show(s)})
	case "DELETE":
		end(k.Cloud, s, k.now)
		k.w.WriteHeader(http.StatusNoContent)
	case "POST action":
		k.action(s)
	case "POST metadata", "PUT metadata":
		var m map[string]string
		if k.read("metadata", &m) {
			k.change(s.id, func(s *server) { s.metadata = merged(s.metadata, m, k.method("PUT")) })
			s, _ = k.all.Get(s.id)
			k.reply(http.StatusOK, map[string]any{"metadata": s.metadata})
		}
	case "DELETE metadata":
		k.forget(s, rest)
	case "PUT tags", "DELETE tags":
		k.retag(s, rest)
	case "GET os-interface":
		k.reply(http.StatusOK, map[string]any{"interfaceAttachments": k.interfaces(s)})
	case "GET os-volume_attachments":
		k.reply(http.StatusOK, map[string]any{"volumeAttachments": k.attachments(s)})
	default:
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	}
}

// forget removes one key of metadata.
func (k servers) forget(s server, rest []string) {
	if _, ok := s.metadata[rest[len(rest)-1]]; !ok || len(rest) != 2 {
		k.fail(http.StatusNotFound, "itemNotFound", "Metadata item was not found")
		return
	}
	k.change(s.id, func(s *server) { delete(s.metadata, rest[1]) })
	k.w.WriteHeader(http.StatusNoContent)
}

// retag replaces all tags, or adds or removes the tag in the path.
func (k servers) retag(s server, rest []string) {
	if len(rest) < 2 {
		var tags []string
		if k.read("tags", &tags) {
			k.change(s.id, func(s *server) { s.tags = tags })
			k.reply(http.StatusOK, map[string]any{"tags": tags})
		}
		return
	}
	one := rest[1]
	has := slices.Contains(s.tags, one)
	switch {
	case k.method("DELETE") && !has:
		k.fail(http.StatusNotFound, "itemNotFound", "Server "+s.id+" has no tag '"+one+"'")
	case k.method("DELETE"):
		k.change(s.id, func(s *server) { s.tags = slices.DeleteFunc(s.tags, func(t string) bool { return t == one }) })
		k.w.WriteHeader(http.StatusNoContent)
	case has:
		k.w.WriteHeader(http.StatusNoContent)
	case !tagFormat.MatchString(one):
		k.fail(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute 0. Value: "+one+". '"+one+"' is too long")
	case len(s.tags) >= mostTags:
		k.fail(http.StatusBadRequest, "badRequest", "The number of tags exceeded the per-server limit "+itoa(mostTags))
	default:
		k.change(s.id, func(s *server) { s.tags = append(s.tags, one) })
		k.w.WriteHeader(http.StatusCreated)
	}
}

func merged(old, with map[string]string, replace bool) map[string]string {
	if replace || old == nil {
		old = map[string]string{}
	}
	maps.Copy(old, with)
	return old
}

// action serves POST servers/{id}/action.
func (k servers) action(s server) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(k.body, &all)
	for name := range all {
		if name == "os-getConsoleOutput" {
			k.console(s)
			return
		}
		_, task, _ := s.states(s.status(k.Cloud, k.now))
		status := s.status(k.Cloud, k.now)
		allowed := map[string][]string{"os-start": {"SHUTOFF"}, "os-stop": {"ACTIVE", "ERROR"}, "reboot": {"ACTIVE", "SHUTOFF", "ERROR"}}[name]
		if !slices.Contains(allowed, status) || task != nil {
			vm, _, _ := s.states(status)
			k.fail(http.StatusConflict, "conflictingRequest", fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", strings.TrimPrefix(name, "os-"), s.id, vm))
			return
		}
		k.change(s.id, func(s *server) {
			s.off = name == "os-stop"
			if !s.off {
				s.boots++
			}
		})
		k.w.WriteHeader(http.StatusAccepted)
		return
	}
	k.fail(http.StatusBadRequest, "badRequest", "There is no such action: ")
}

func (k servers) console(s server) {
	if !s.attached || s.status(k.Cloud, k.now) == "BUILD" {
		k.fail(http.StatusConflict, "conflictingRequest", "Instance "+s.id+" is not ready")
		return
	}
	k.reply(http.StatusOK, map[string]any{"output": "[    0.000000] Linux version 6.1.0\n" + s.name + " login: \n"})
}

// interfaces have the form of testdata/server-interfaces.json.
func (k servers) interfaces(s server) []any {
	out := []any{}
	for _, id := range s.ports {
		if p := k.ports[id]; p != nil && p.device == s.id {
			out = append(out, map[string]any{"net_id": p.network, "port_id": id, "mac_addr": p.mac, "port_state": "DOWN", "fixed_ips": p.fixedIPs()})
		}
	}
	return out
}

func (k servers) attachments(s server) []any {
	out := []any{}
	for n, d := range s.disks {
		out = append(out, map[string]any{"id": d.volume, "volumeId": d.volume, "serverId": s.id, "device": fmt.Sprintf("/dev/vd%c", 'a'+n)})
	}
	return out
}

func (k compute) serveFlavors() {
	rest := k.parts[1:]
	switch {
	case len(rest) == 1 && rest[0] == "detail":
		out := []any{}
		for _, f := range k.stock.Flavors {
			out = append(out, k.showFlavor(f))
		}
		k.reply(http.StatusOK, map[string]any{"flavors": out})
	case len(rest) == 0:
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	default:
		f, ok := k.flavor(rest[0])
		if !ok {
			k.fail(http.StatusNotFound, "itemNotFound", "Flavor "+rest[0]+" could not be found.")
			return
		}
		if len(rest) == 2 {
			k.reply(http.StatusOK, map[string]any{"extra_specs": orEmpty(f.ExtraSpecs)})
			return
		}
		k.reply(http.StatusOK, map[string]any{"flavor": k.showFlavor(f)})
	}
}

// showFlavor has the form of testdata/flavors.json.
func (k compute) showFlavor(f Flavor) map[string]any {
	return map[string]any{
		"id": f.ID, "name": f.Name, "ram": f.RAM, "disk": f.Disk, "swap": "", "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false,
		"vcpus": f.VCPUs, "os-flavor-access:is_public": true, "rxtx_factor": 1.0, "links": servers(k).links("flavors", f.ID),
	}
}

// flavor is the flavor with the ID.
func (k *stock) flavor(id string) (Flavor, bool) {
	for _, f := range k.Flavors {
		if f.ID == id {
			return f, true
		}
	}
	if k.any && id != "" {
		f := Flavor{ID: id, Name: id, VCPUs: 4, RAM: 16384, Disk: 40}
		k.Flavors = append(k.Flavors, f)
		return f, true
	}
	return Flavor{}, false
}

// zones have the form of testdata/azs.json.
func (k compute) zones() {
	out := []any{}
	for _, z := range k.stock.Zones {
		out = append(out, map[string]any{"zoneName": z, "zoneState": map[string]any{"available": !k.closed[z]}, "hosts": nil})
	}
	k.reply(http.StatusOK, map[string]any{"availabilityZoneInfo": out})
}

func (k compute) keyPairs() {
	out := []any{}
	for _, name := range k.stock.KeyPairs {
		out = append(out, map[string]any{"keypair": map[string]any{"name": name, "type": "ssh", "public_key": "ssh-ed25519 AAAA", "fingerprint": "1e:2c"}})
	}
	k.reply(http.StatusOK, map[string]any{"keypairs": out})
}

// serverGroup is a server group of Nova.
type serverGroup struct {
	id, name string
	policies []string
}

func (k compute) serveGroups() {
	switch {
	case k.method("POST"):
		var o struct {
			Name     string   `json:"name"`
			Policies []string `json:"policies"`
		}
		if !k.read("server_group", &o) {
			return
		}
		g := &serverGroup{id: k.id("group"), name: o.Name, policies: o.Policies}
		k.groups[g.id] = g
		k.reply(http.StatusOK, map[string]any{"server_group": k.showGroup(g)})
	case len(k.parts) == 2:
		g, ok := k.groups[k.parts[1]]
		if !ok {
			k.fail(http.StatusNotFound, "itemNotFound", "Instance group "+k.parts[1]+" could not be found.")
			return
		}
		k.reply(http.StatusOK, map[string]any{"server_group": k.showGroup(g)})
	default:
		out := []any{}
		for _, id := range slices.Sorted(maps.Keys(k.groups)) {
			out = append(out, k.showGroup(k.groups[id]))
		}
		k.reply(http.StatusOK, map[string]any{"server_groups": out})
	}
}

func (k compute) showGroup(g *serverGroup) map[string]any {
	members := []string{}
	for _, s := range k.all.All() {
		if s.group == g.id {
			members = append(members, s.id)
		}
	}
	return map[string]any{
		"id": g.id, "name": g.name, "policies": g.policies, "members": members, "metadata": map[string]any{},
		"project_id": k.token.project.ID, "user_id": k.token.user.ID,
	}
}
