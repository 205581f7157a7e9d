package nova

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are how a cloud behaves.
type Options struct {
	Inventory Inventory
	// AcceptAny takes unknown users, projects, regions, images, flavors, networks, subnets, groups, zones, key pairs and volume types as if they were there.
	AcceptAny bool
	// Boot and Delete are how long a server is BUILD, and is deleting; 0 for 3 s and 2 s. A port is bound after half of Boot.
	Boot, Delete time.Duration
	// Volume is how long a volume is creating; 0 for 2 s.
	Volume time.Duration
	// Reclaim is how long a server that was deleted can be restored: Nova's reclaim_instance_interval; 0, the default there too: not at all.
	Reclaim time.Duration
	// PageSize is how many a page of a listing has at most; 0 for 1000.
	PageSize int
	// PlainLinks: links to next pages begin with http, whatever the caller came by. So do those of services behind a proxy that ends TLS,
	// unless they heed its headers (enable_proxy_headers_parsing of oslo.middleware).
	PlainLinks bool
}

// Cloud is the simulator. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	clock *double.Clock
	Options
	*stock

	mu      sync.Mutex
	lag     time.Duration // of listings of servers
	tokens  map[string]token
	users   []User
	all     *double.Table[server]
	ports   map[string]*port
	volumes map[string]*volume
	trunks  map[string]*trunk
	floats  map[string]*float
	groups  map[string]*serverGroup
	// seq orders what was made.
	seq  int
	room map[string]int
	// closed are zones whose hosts are all disabled.
	closed map[string]bool
	// revoked are users that are let in no more; shut: nor are those whom the inventory does not have.
	revoked []User
	shut    bool
}

var (
	_ double.Cloud     = &Cloud{}
	_ double.Host      = &Cloud{}
	_ double.Inspected = &Cloud{}
)

// New returns a cloud with nothing made in it.
func New(clock *double.Clock, o Options) *Cloud {
	o.Boot = double.Or(o.Boot, 3*time.Second)
	o.Delete = double.Or(o.Delete, 2*time.Second)
	o.Volume = double.Or(o.Volume, 2*time.Second)
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	c := &Cloud{
		clock: clock, Options: o, tokens: map[string]token{}, users: o.Inventory.Users, all: double.NewTable[server](clock),
		ports: map[string]*port{}, volumes: map[string]*volume{}, trunks: map[string]*trunk{}, floats: map[string]*float{},
		groups: map[string]*serverGroup{}, room: map[string]int{}, closed: map[string]bool{},
	}
	c.stock = &stock{Inventory: o.Inventory, any: o.AcceptAny}
	for k, v := range o.Inventory.Room {
		c.room[k] = v
	}
	for _, f := range o.Inventory.FloatingIPs {
		c.floats[f.ID] = &float{FloatingIP: f}
	}
	return c
}

// call is one request on its way.
type call struct {
	*Cloud
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	// service is "identity", "compute", "network", "image" or "volume"; parts are the path below its version.
	service string
	parts   []string
	token   token
	now     time.Time
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	service, parts := split(r.URL.Path)
	k := &call{Cloud: c, w: w, r: r, body: body, service: service, parts: parts, now: c.clock.Now()}
	c.settle(k.now)
	if versions(k) {
		return
	}
	if service != "identity" && !k.authenticated() {
		return
	}
	serve, ok := map[string]func(*call){
		"identity": serveIdentity, "compute": serveCompute, "network": serveNetwork, "image": serveImage, "volume": serveVolume,
	}[service]
	if !ok {
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
		return
	}
	serve(k)
}

// split takes a path apart: /compute/v2.1/servers/detail is compute and [servers detail]. Of Cinder the project is left out.
// A path that names no service is Keystone's, as where that has a port of its own: /v3/auth/tokens.
func split(path string) (service string, parts []string) {
	all := strings.Split(strings.Trim(path, "/"), "/")
	if all[0] == "" {
		return "identity", nil // Keystone at a port of its own tells its versions
	}
	if strings.HasPrefix(all[0], "v3") {
		all = append([]string{"identity"}, all...)
	}
	service = all[0]
	if len(all) < 2 || !strings.HasPrefix(all[1], "v") {
		return service, all[1:]
	}
	parts = all[2:]
	if service == "volume" && len(parts) > 0 {
		parts = parts[1:]
	}
	return service, parts
}

// services are the names of those that have more than one word to them in logs.
var services = map[string]string{"identity": "keystone", "compute": "nova", "network": "neutron", "image": "glance", "volume": "cinder"}

// fixed are the words of paths that are no IDs.
var fixed = map[string]bool{
	"servers": true, "detail": true, "action": true, "flavors": true, "os-extra_specs": true, "os-keypairs": true, "os-availability-zone": true,
	"os-server-groups": true, "os-volume_attachments": true, "os-interface": true, "metadata": true, "tags": true, "limits": true, "networks": true,
	"subnets": true, "ports": true, "security-groups": true, "floatingips": true, "trunks": true, "images": true, "volumes": true, "auth": true,
	"tokens": true, "types": true,
}

// Operation implements [double.Cloud]: "nova.GET.servers.id", "nova.GET.servers.detail", and "nova.GET.servers.detail.next" for pages
// but the first.
func (*Cloud) Operation(r *http.Request, _ []byte) (name string, writes bool) {
	service, parts := split(r.URL.Path)
	if known, ok := services[service]; ok {
		service = known
	}
	name = service + "." + r.Method
	for _, p := range parts {
		if !fixed[p] {
			p = "id"
		}
		name += "." + p
	}
	if r.URL.Query().Has("marker") {
		name += ".next"
	}
	return name, r.Method != http.MethodGet && r.Method != http.MethodHead && service != "keystone"
}

// reply writes an answer.
func (k *call) reply(status int, answer any) {
	k.w.Header().Set("Content-Type", "application/json")
	k.w.Header().Set("X-Openstack-Request-Id", "req-"+k.id("request"))
	k.w.Header().Set("Date", k.now.UTC().Format(http.TimeFormat))
	k.w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(k.w).Encode(answer)
	}
}

// read decodes what was asked for into one field of an object.
func (k *call) read(name string, into any) bool {
	var all map[string]json.RawMessage
	err := json.Unmarshal(k.body, &all)
	if err == nil {
		err = json.Unmarshal(all[name], into)
	}
	if err != nil {
		k.fail(http.StatusBadRequest, "badRequest", "Malformed request body: "+err.Error())
	}
	return err == nil
}

// id makes an identifier: a UUID by what it is for and how many there are.
func (c *Cloud) id(kind string) string {
	c.seq++
	return uuid(fmt.Sprintf("%s %d", kind, c.seq))
}

// base is where the cloud is reached, as the caller sees it.
func (k *call) base() string { return base(k.r) }

func base(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

func (k *call) method(methods ...string) bool {
	for _, m := range methods {
		if k.r.Method == m {
			return true
		}
	}
	return false
}

// stamp is a time as Nova, Neutron and Glance write it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// micro is one with microseconds and without a zone.
func micro(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }
