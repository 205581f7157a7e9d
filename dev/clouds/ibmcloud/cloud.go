package ibmcloud

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a cloud.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown credentials, images and profiles.
	AcceptAny bool
	// Boot is how long an instance takes to run, Delete how long it takes to stop or to be deleted. 0 means
	// 3 s and 4 s.
	Boot, Delete time.Duration
	// PageSize limits the pages of listings; 0 means 100.
	PageSize int
}

func (o Options) complete() Options {
	o.Boot, o.Delete, o.PageSize = double.Or(o.Boot, 3*time.Second), double.Or(o.Delete, 4*time.Second), cmp.Or(o.PageSize, 100)
	return o
}

// Cloud is one region of IBM Cloud.
type Cloud struct {
	*store
	launcher
	lister
}

// The methods of a cloud are on separate types, one for each subject. Each of them is the store.
type (
	launcher struct{ *store } // creates instances
	lister   struct{ *store } // describes resources
)

// store has the state of a cloud.
type store struct {
	options Options
	clock   *double.Clock

	instances *double.Table[instance]

	double.Controls
	double.Conditions // the capacity of zones, and of zone/profile
	double.Inbox[Received]
	*double.Credentials[Credential]

	mu      sync.Mutex // of writes, and of the fields below
	tokens  map[string]grant
	sample  Credential // in the samples
	orphans map[string]volume
}

// Received is a request.
type Received struct {
	Query url.Values
	Body  json.RawMessage
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with a clock.
func New(clock *double.Clock, o Options) *Cloud {
	first := func(k Credential) bool { return k.Account == "" || k.Account == o.Inventory.Account }
	c := &store{
		options: o.complete(), clock: clock, instances: double.NewTable[instance](clock), tokens: map[string]grant{}, orphans: map[string]volume{},
		Credentials: double.NewCredentials(o.AcceptAny, first, o.Inventory.Credentials...),
	}
	if len(o.Inventory.Credentials) > 0 {
		c.sample = o.Inventory.Credentials[0]
	}
	c.SetCapacity(o.Inventory.Capacity)
	c.Controls = c.controls()
	return &Cloud{store: c, launcher: launcher{c}, lister: lister{c}}
}

// call is a decoded request.
type call struct {
	*http.Request
	body      []byte
	query     url.Values
	operation string
	// id is the resource in the path, and part a resource below it.
	id, part string
	// account is the caller's account.
	account string
}

// operations are the names of operations, by method and path. An asterisk stands for an ID.
var operations = map[string]string{
	"POST identity/token": "request_token", "GET v2/resource_groups": "list_resource_groups", "POST v3/tags/attach": "attach_tag",
	"GET v1/regions/*": "get_region", "GET v1/images": "list_images", "GET v1/vpcs": "list_vpcs", "GET v1/subnets": "list_subnets", "GET v1/security_groups": "list_security_groups",
	"GET v1/dedicated_hosts": "list_dedicated_hosts", "GET v1/instance/profiles": "list_instance_profiles", "GET v1/instance/profiles/*": "get_instance_profile",
	"GET v1/instances": "list_instances", "POST v1/instances": "create_instance", "GET v1/instances/*": "get_instance", "DELETE v1/instances/*": "delete_instance",
	"POST v1/instances/*/actions": "create_instance_action", "PATCH v1/instances/*/network_interfaces/*": "update_instance_network_interface",
	"PATCH v1/instances/*/volume_attachments/*": "update_instance_volume_attachment",
}

func read(r *http.Request, body []byte) call {
	in := call{Request: r, body: body, query: r.URL.Query()}
	words := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for n, word := range words {
		switch {
		case n == 2 && words[1] != "instance" && words[0] == "v1", n == 3 && words[1] == "instance":
			in.id, words[n] = word, "*"
		case n == 4:
			in.part, words[n] = word, "*"
		}
	}
	in.operation = operations[r.Method+" "+strings.Join(words, "/")]
	return in
}

// Operation implements [double.Cloud]: the name in the published API, with a plus sign for later pages.
func (c *Cloud) Operation(r *http.Request, body []byte) (name string, writes bool) {
	in := read(r, body)
	name = in.operation
	if in.query.Get("start") != "" {
		name += "+"
	}
	return name, r.Method != http.MethodGet && name != "request_token"
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	if read(r, nil).operation == "request_token" {
		writeIAM(w, f)
		return
	}
	write(w, worded(f))
}

// object is an object of an answer.
type object = map[string]any

// handlers serve the operations.
var handlers = map[string]func(*Cloud, *call) (any, *failure){
	"list_resource_groups": listResourceGroups, "attach_tag": attachTag, "get_region": getRegion, "list_images": listImages, "list_vpcs": listVPCs, "list_subnets": listSubnets,
	"list_security_groups": listSecurityGroups, "list_dedicated_hosts": listDedicatedHosts, "list_instance_profiles": listProfiles, "get_instance_profile": getProfile,
	"list_instances": listInstances, "create_instance": createInstance, "get_instance": getInstance, "delete_instance": deleteInstance,
	"create_instance_action": createAction, "update_instance_network_interface": renamePart, "update_instance_volume_attachment": renamePart,
}

// statuses are the statuses of successful operations other than 200. An answer without content has none.
var statuses = map[string]int{
	"create_instance": http.StatusCreated, "create_instance_action": http.StatusCreated, "delete_instance": http.StatusNoContent,
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	in := read(r, body)
	c.settle()
	if in.operation == "request_token" {
		c.requestToken(w, &in)
		return
	}
	answer, no := c.serve(&in)
	if no != nil {
		write(w, no)
		return
	}
	status := cmp.Or(statuses[in.operation], http.StatusOK)
	if answer == nil {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (c *Cloud) serve(in *call) (any, *failure) {
	do := handlers[in.operation]
	if do == nil {
		return nil, refuse(http.StatusNotFound, "invalid_route", "The requested route does not exist.")
	}
	if no := c.authorize(in); no != nil {
		return nil, no
	}
	if strings.HasPrefix(in.URL.Path, "/v1/") && (len(in.query.Get("version")) != len("2026-01-01") || in.query.Get("generation") != "2") {
		return nil, refuse(http.StatusBadRequest, "missing_version", "The `version` parameter is required, and it must be of the form `YYYY-MM-DD`.")
	}
	c.Remember(in.operation, Received{Query: in.query, Body: in.body})
	return do(c, in)
}
