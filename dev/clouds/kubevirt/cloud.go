package kubevirt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are how a cluster behaves.
type Options struct {
	Inventory Inventory
	// AcceptAny takes unknown zones, networks and claims as if they were there.
	AcceptAny bool
	// Import is how long a data volume is filled, Boot how long an instance takes to run then, Delete how long a virtual machine takes to
	// go; 0 for 1 s, 2 s and 2 s.
	Import, Boot, Delete time.Duration
	// PageSize is how many a page of a list has at most; 0 for what is asked for.
	PageSize int
	// Without are resources that the cluster does not serve: "virtualmachines" where KubeVirt is not installed.
	Without []string
}

// Cloud is the double. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	*controller

	mu    sync.Mutex
	lag   time.Duration // of lists
	users []User
	// revoked are users that are let in no more.
	revoked []User
	// needed are the rights that were made use of: "get virtualmachines.kubevirt.io".
	needed map[string]bool
}

// memory is what an API server keeps. It is used by one at a time.
type memory struct {
	clock   *double.Clock
	objects *double.Table[object]
	// lives is what befell virtual machines, by UID.
	lives map[string]*life
	// seq orders what was made and changed.
	seq int
}

var (
	_ double.Cloud     = &Cloud{}
	_ double.Host      = &Cloud{}
	_ double.Inspected = &Cloud{}
)

// New returns a cluster with nothing made in it.
func New(clock *double.Clock, o Options) *Cloud {
	o.Import, o.Boot, o.Delete = orElse(o.Import, time.Second), orElse(o.Boot, 2*time.Second), orElse(o.Delete, 2*time.Second)
	m := &memory{clock: clock, objects: double.NewTable[object](clock), lives: map[string]*life{}}
	c := &Cloud{
		controller: &controller{memory: m, Options: o, room: map[string]int{}}, users: o.Inventory.Users, needed: map[string]bool{},
	}
	for zone, n := range o.Inventory.Room {
		c.room[zone] = n
	}
	return c
}

func orElse(d, other time.Duration) time.Duration {
	if d <= 0 {
		return other
	}
	return d
}

// resource is a kind of objects that the double has.
type resource struct{ group, version, name, kind string }

var resources = []resource{
	{"", "v1", "namespaces", "Namespace"},
	{"", "v1", "secrets", "Secret"},
	{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
	{"kubevirt.io", "v1", "virtualmachines", "VirtualMachine"},
	{"kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance"},
	{"cdi.kubevirt.io", "v1beta1", "datavolumes", "DataVolume"},
}

func (r resource) apiVersion() string { return strings.TrimPrefix(r.group+"/"+r.version, "/") }
func (r resource) full() string       { return strings.TrimSuffix(r.name+"."+r.group, ".") }

// named is the resource with the name.
func named(name string) resource {
	for _, r := range resources {
		if r.name == name {
			return r
		}
	}
	return resource{}
}

// target is what a path names: /apis/<group>/<version>/namespaces/<namespace>/<resource>/<name>, or /api/v1/... without a group.
type target struct {
	resource
	namespace, object string
	known             bool
}

func targetOf(path string) (t target) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	var rest []string
	switch {
	case len(parts) > 2 && parts[0] == "apis":
		group, rest = parts[1], parts[2:]
	case len(parts) > 1 && parts[0] == "api":
		rest = parts[1:]
	default:
		return t
	}
	version, rest := rest[0], rest[1:]
	if len(rest) > 1 && rest[0] == "namespaces" {
		t.namespace = rest[1]
		rest = rest[2:]
	}
	if len(rest) == 0 && t.namespace != "" { // the namespace itself
		rest = []string{"namespaces", t.namespace}
	}
	if len(rest) == 0 || len(rest) > 2 {
		return t
	}
	for _, r := range resources {
		if r.group == group && r.version == version && r.name == rest[0] {
			t.resource, t.known = r, true
		}
	}
	if len(rest) == 2 {
		t.object = rest[1]
	}
	return t
}

// verb is what a request does, in the words of RBAC.
func (t target) verb(method string) string {
	switch method {
	case http.MethodGet:
		if t.object == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return strings.ToLower(method)
}

// Operation implements [double.Cloud]: "virtualmachines.get", "virtualmachines.list", and "virtualmachines.list.next" for pages but the
// first.
func (*Cloud) Operation(r *http.Request, _ []byte) (name string, writes bool) {
	t := targetOf(r.URL.Path)
	name = t.name + "." + t.verb(r.Method)
	if r.URL.Query().Has("continue") {
		name += ".next"
	}
	return name, r.Method != http.MethodGet
}

// call is one request on its way.
type call struct {
	*Cloud
	target
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	now  time.Time
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &call{Cloud: c, target: targetOf(r.URL.Path), w: w, r: r, body: body, now: c.clock.Now()}
	c.settle(k.now)
	defer c.settle(k.now)
	user, ok := k.user()
	if !ok {
		k.fail(status{code: http.StatusUnauthorized, reason: "Unauthorized", message: "Unauthorized"})
		return
	}
	verb := k.verb(r.Method)
	if k.known && !user.may(verb, k.target) {
		k.forbid(user, verb)
		return
	}
	c.needed[verb+" "+k.full()] = true
	for _, without := range c.Without {
		k.known = k.known && k.name != without
	}
	serve := map[string]func(*call){"get": get, "list": list, "create": create, "patch": patch, "delete": remove}[verb]
	if !k.known || serve == nil {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	serve(k)
}

// reply writes an answer.
func (k *call) reply(code int, answer any) {
	k.w.Header().Set("Content-Type", "application/json")
	k.w.Header().Set("Date", k.now.UTC().Format(http.TimeFormat))
	k.w.WriteHeader(code)
	_ = json.NewEncoder(k.w).Encode(answer)
}

// next counts what is made and changed.
func (m *memory) next() string {
	m.seq++
	return strconv.Itoa(m.seq)
}

// newUID makes an identifier that there was not before.
func (m *memory) newUID(kind string) string { return uuid(kind + " " + m.next()) }

func uuid(of string) string {
	sum := sha256.Sum256([]byte(of))
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
}

// stamp is a time as API servers write it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
