package prism

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a cloud.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown credentials, clusters, images, subnets, projects and categories.
	AcceptAny bool
	// Boot is how long a creation takes, Delete how long a deletion takes. 0 means 3 s and 4 s.
	Boot, Delete time.Duration
	// PageSize limits the pages of listings; 0 means 500.
	PageSize int
	// Plain: requests with reserved UUIDs get other UUIDs, as if Prism Central ignored them.
	Plain bool
}

// Cloud is a Prism Central. Its methods are spread over the types that it embeds, one for each subject.
type Cloud struct {
	*store
	vms
	catalog
}

type (
	vms     struct{ *store } // virtual machines and tasks
	catalog struct{ *store } // clusters, hosts, images, subnets, projects and categories
)

// store has the state of a cloud.
type store struct {
	options Options
	clock   *double.Clock

	double.Controls
	double.Conditions // the places are names of clusters
	double.Inbox[Request]
	*double.Credentials[Credential]

	machines *double.Table[machine]
	failed   *double.Table[string] // the reasons of failed creations, by UUID

	mu       sync.Mutex // of writes, and of the fields below
	tasks    map[string]task
	reserved map[string][]string // UUIDs by account and identifier
	issued   map[string]bool     // UUIDs that were reserved, and whether they are used
	sample   Credential          // in the samples
}

// Request is a request that a user sent.
type Request struct {
	Method, Path string
	Body         []byte
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with a clock.
func New(clock *double.Clock, o Options) *Cloud {
	o.Boot, o.Delete, o.PageSize = double.Or(o.Boot, 3*time.Second), double.Or(o.Delete, 4*time.Second), cmp.Or(o.PageSize, 500)
	s := &store{
		options: o, clock: clock, machines: double.NewTable[machine](clock), failed: double.NewTable[string](clock), tasks: map[string]task{}, reserved: map[string][]string{}, issued: map[string]bool{},
		Credentials: double.NewCredentials(o.AcceptAny, o.Inventory.first, o.Inventory.Credentials...),
	}
	s.SetCapacity(o.Inventory.Capacity)
	if len(o.Inventory.Credentials) > 0 {
		s.sample = o.Inventory.Credentials[0]
	}
	c := &Cloud{store: s, vms: vms{s}, catalog: catalog{s}}
	c.Controls = c.controls()
	return c
}

// prefix begins the paths of the API.
const prefix = "/api/nutanix/v3/"

// call is a decoded request.
type call struct {
	operation string
	// name and value are the variable parts of the path.
	name, value string
	body        []byte
	caller      Credential
	account     string
}

// object is an object of an answer.
type object = map[string]any

// actions are the served operations: a method, a collection, and what follows the name of an entity.
var actions = map[string]func(*Cloud, *call) (int, object, *failure){
	"POST vms": createVM, "POST vms/list": listVMs, "GET vms/*": getVM, "PUT vms/*": updateVM, "DELETE vms/*": deleteVM, "POST vms/*/power_cycle": cycleVM,
	"GET tasks/*": getTask, "POST idempotence_identifiers": reserve, "GET idempotence_identifiers/*": getReservation, "DELETE idempotence_identifiers/*": deleteReservation,
	"POST clusters/list": listClusters, "GET clusters/*": getCluster, "POST hosts/list": listHosts, "POST images/list": listImages, "GET images/*": getImage,
	"POST subnets/list": listSubnets, "GET subnets/*": getSubnet, "POST projects/list": listProjects, "GET projects/*": getProject, "GET categories/*/*": getCategory,
}

// read decodes a request. Its operation is a key of [actions].
func read(r *http.Request, body []byte) *call {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, prefix), "/")
	in := &call{body: body}
	if len(parts) > 1 && parts[1] != "list" {
		in.name, parts[1] = parts[1], "*"
	}
	if len(parts) > 2 && parts[0] == "categories" {
		in.value, parts[2] = parts[2], "*"
	}
	in.operation = r.Method + " " + strings.Join(parts, "/")
	return in
}

// Operation implements [double.Cloud]. Later pages have a suffix.
func (c *Cloud) Operation(r *http.Request, body []byte) (name string, writes bool) {
	in := read(r, body)
	lists := strings.HasSuffix(in.operation, "/list")
	if lists && in.page().Offset > 0 {
		in.operation += "+"
	}
	return in.operation, r.Method != http.MethodGet && !lists
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.settle()
	status, answer, no := c.serve(r, body)
	if no != nil {
		no.write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func (c *Cloud) serve(r *http.Request, body []byte) (int, object, *failure) {
	in := read(r, body)
	do, ok := actions[in.operation]
	if !ok || !strings.HasPrefix(r.URL.Path, prefix) {
		return 0, nil, &failure{status: http.StatusNotFound, page: true}
	}
	if no := c.authenticate(r, in); no != nil {
		return 0, nil, no
	}
	c.Remember(in.operation, Request{Method: r.Method, Path: strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(prefix, "/")), Body: body})
	return do(c, in)
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, _ *http.Request, f double.Failure) { worded(f).write(w) }

// page is the request for a page.
type page struct {
	Kind   string `json:"kind"`
	Filter string `json:"filter"`
	Length int    `json:"length"`
	Offset int    `json:"offset"`
}

func (in *call) page() (p page) {
	_ = json.Unmarshal(in.body, &p) // no body: the first page
	return p
}

// list answers with a page of entities that satisfy the filter. name is the attribute of filters.
func (c *store) list(in *call, kind, name string, all []object) (int, object, *failure) {
	p := in.page()
	attribute, value, filtered := strings.Cut(p.Filter, "==")
	if p.Filter != "" && (!filtered || attribute != name) {
		return 0, nil, refuse(http.StatusUnprocessableEntity, "INVALID_REQUEST", "The filter %q is invalid.", p.Filter)
	}
	matching := []object{}
	for _, e := range all {
		if spec, _ := e["spec"].(object); !filtered || spec["name"] == value {
			matching = append(matching, e)
		}
	}
	most := min(cmp.Or(p.Length, 20), c.options.PageSize)
	begin := min(p.Offset, len(matching))
	shown := matching[begin:min(begin+most, len(matching))]
	return http.StatusOK, object{
		"api_version": "3.1", "entities": shown,
		"metadata": object{"kind": kind, "total_matches": len(matching), "length": len(shown), "offset": p.Offset},
	}, nil
}
