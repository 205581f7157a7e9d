package nova

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a cloud.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown users, projects, regions, images, flavors, networks, subnets, groups, zones,
	// key pairs and volume types.
	AcceptAny bool
	// Boot and Delete are how long a server is BUILD, and is deleting; 0 means 3 s and 2 s. A port is bound
	// after half of Boot.
	Boot, Delete time.Duration
	// Volume is how long a volume is creating; 0 means 2 s.
	Volume time.Duration
	// Reclaim is how long a deleted server can be restored: Nova's reclaim_instance_interval. 0, which is Nova's default, means
	// that it cannot be restored.
	Reclaim time.Duration
	// PageSize is the maximum page size of a listing; 0 means 1000.
	PageSize int
	// PlainLinks: links to next pages use http even if the caller used https, as those of services behind a proxy that ends TLS
	// without enable_proxy_headers_parsing of oslo.middleware.
	PlainLinks bool
}

// Cloud is the simulator. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	clock *double.Clock
	Options
	*stock
	double.Controls
	double.Conditions // the capacity of zones, and of zone/flavor. The lag of listings of servers
	*double.Credentials[User]

	mu      sync.Mutex
	tokens  map[string]token
	all     *double.Table[server]
	ports   map[string]*port
	volumes map[string]*volume
	trunks  map[string]*trunk
	floats  map[string]*float
	groups  map[string]*serverGroup
	// seq orders creations.
	seq int
	// closed are zones whose hosts are all disabled.
	closed map[string]bool
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with only its inventory.
func New(clock *double.Clock, o Options) *Cloud {
	o.Boot = double.Or(o.Boot, 3*time.Second)
	o.Delete = double.Or(o.Delete, 2*time.Second)
	o.Volume = double.Or(o.Volume, 2*time.Second)
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	c := &Cloud{
		clock: clock, Options: o, tokens: map[string]token{}, all: double.NewTable[server](clock),
		ports: map[string]*port{}, volumes: map[string]*volume{}, trunks: map[string]*trunk{}, floats: map[string]*float{},
		groups: map[string]*serverGroup{}, closed: map[string]bool{},
	}
	c.stock = &stock{Inventory: o.Inventory, any: o.AcceptAny}
	c.SetCapacity(o.Inventory.Room)
	c.Controls = controls(c)
	c.Credentials = double.NewCredentials(o.AcceptAny, func(u User) bool { return slices.Contains(u.Projects, o.Inventory.Projects[0].Name) }, o.Inventory.Users...)
	for _, f := range o.Inventory.FloatingIPs {
		c.floats[f.ID] = &float{FloatingIP: f}
	}
	return c
}

// call is one request.
type call struct {
	*Cloud
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	// service is "identity", "compute", "network", "image" or "volume"; parts is the path below the version of the service.
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

// split splits a path: /compute/v2.1/servers/detail is compute and [servers detail]. It omits Cinder's
// project. A path without a service is Keystone's, as for a Keystone with a port of its own: /v3/auth/tokens.
func split(path string) (service string, parts []string) {
	all := strings.Split(strings.Trim(path, "/"), "/")
	if all[0] == "" {
		return "identity", nil // Keystone at its own port lists its versions
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

// services are the names of the services in the log.
var services = map[string]string{"identity": "keystone", "compute": "nova", "network": "neutron", "image": "glance", "volume": "cinder"}

// fixed are the words of paths that are not IDs.
var fixed = map[string]bool{
	"servers": true, "detail": true, "action": true, "flavors": true, "os-extra_specs": true, "os-keypairs": true, "os-availability-zone": true,
	"os-server-groups": true, "os-volume_attachments": true, "os-interface": true, "metadata": true, "tags": true, "limits": true, "networks": true,
	"subnets": true, "ports": true, "security-groups": true, "floatingips": true, "trunks": true, "images": true, "volumes": true, "auth": true,
	"tokens": true, "types": true,
}

// Operation implements [double.Cloud]: "nova.GET.servers.id", "nova.GET.servers.detail", and "nova.GET.servers.detail.next" for
// later pages.
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

// read decodes the request into one field of an object.
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

// id is a new UUID, by its purpose and a counter.
func (c *Cloud) id(kind string) string {
	c.seq++
	return uuid(fmt.Sprintf("%s %d", kind, c.seq))
}

// base is the URL of the cloud as the caller used it.
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

// stamp formats a time as Nova, Neutron and Glance do.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// micro formats a time with microseconds and without a zone.
func micro(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }
