package ecs

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// Options are the options of a cloud.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown credentials, regions, images, vSwitches, groups, types and so on.
	AcceptAny bool
	// Boot is how long an instance takes to run, Delete how long it takes to stop or to be released. 0 means
	// 3 s and 4 s.
	Boot, Delete time.Duration
	// PageSize limits the pages of listings; 0 means 100.
	PageSize int
	// MostTagged is the number of instances after which a listing by tags ends without an error; 0 means 1000.
	MostTagged int
}

func (o Options) complete() Options {
	o.Boot, o.Delete = double.Or(o.Boot, 3*time.Second), double.Or(o.Delete, 4*time.Second)
	o.PageSize, o.MostTagged = cmp.Or(o.PageSize, 100), cmp.Or(o.MostTagged, 1000)
	return o
}

// Cloud is one region of Alibaba Cloud.
type Cloud struct {
	*store
	authenticator
	launcher
	describer
}

// The methods of a cloud are on separate types, one for each subject. Each of them is the store.
type (
	authenticator struct{ *store } // authenticates callers
	launcher      struct{ *store } // creates instances
	describer     struct{ *store } // describes instances
)

// store has the state of a cloud.
type store struct {
	options Options
	clock   *double.Clock

	instances *double.Table[instance]
	disks     *double.Table[disk]

	double.Controls
	double.Conditions // the capacity of zones, and of zone/type
	double.Inbox[url.Values]
	*double.Credentials[Credential]

	mu     sync.Mutex // of writes, and of the fields below
	made   int
	tokens map[string]answered
	sample Credential // in the samples
}

// answered is the outcome of a request with a token.
type answered struct{ request, id string }

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with a clock.
func New(clock *double.Clock, o Options) *Cloud {
	c := &store{
		options: o.complete(), clock: clock, instances: double.NewTable[instance](clock), disks: double.NewTable[disk](clock),
		tokens:      map[string]answered{},
		Credentials: double.NewCredentials(o.AcceptAny, o.Inventory.first, o.Inventory.Credentials...),
	}
	c.SetCapacity(o.Inventory.Capacity)
	c.Controls = c.controls()
	if len(o.Inventory.Credentials) > 0 {
		c.sample = o.Inventory.Credentials[0]
	}
	return &Cloud{store: c, authenticator: authenticator{c}, launcher: launcher{c}, describer: describer{c}}
}

// services are the services by the API version of a request.
var services = map[string]string{"2014-05-26": "ecs", "2016-04-28": "vpc", "2020-03-31": "resourcemanager", "2015-04-01": "sts"}

// call is a decoded request.
type call struct {
	form.Form
	service, action string
	// account is the caller's account, request the ID of the answer.
	account, request string
	caller           Credential
}

// read decodes a request: its parameters are in the query, in the body, or in both.
func read(r *http.Request, body []byte) call {
	values := r.URL.Query()
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		more, err := url.ParseQuery(string(body))
		for key, value := range more {
			if err == nil {
				values[key] = append(values[key], value...)
			}
		}
	}
	action, version := cmp.Or(r.Header.Get("X-Acs-Action"), values.Get("Action")), cmp.Or(r.Header.Get("X-Acs-Version"), values.Get("Version"))
	return call{Form: form.Form{Values: values}, service: services[version], action: action}
}

// operation is the name of the action, with the service as a prefix for services other than ECS, and with a suffix for later pages.
func (c call) operation() string {
	name := c.operationOfAction()
	if c.Get("NextToken") != "" {
		name += "+"
	}
	return name
}

func (c call) operationOfAction() string {
	if c.service == "ecs" {
		return c.action
	}
	return c.service + "." + c.action
}

// Operation implements [double.Cloud].
func (c *Cloud) Operation(r *http.Request, body []byte) (name string, writes bool) {
	in := read(r, body)
	reads := strings.HasPrefix(in.action, "Describe") || strings.HasPrefix(in.action, "Get") || strings.HasPrefix(in.action, "List")
	return in.operation(), !reads
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	writeFailure(w, r, worded(f))
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	in := read(r, body)
	in.request = requestID()
	c.settle()
	answer, no := c.serve(r, body, &in)
	if no != nil {
		writeFailure(w, r, no)
		return
	}
	answer["RequestId"] = in.request
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer)
}

// object is an object of an answer.
type object = map[string]any

func (c *Cloud) serve(r *http.Request, body []byte, in *call) (object, *failure) {
	do, ok := actions[in.operationOfAction()]
	if !ok {
		return nil, refuse("InvalidAction.NotFound", "Specified api is not found, please check your url and method.")
	}
	if no := c.authenticate(r, body, in); no != nil {
		return nil, no
	}
	if no := in.permitted(); no != nil {
		return nil, no
	}
	if no := c.checkRegion(in); no != nil {
		return nil, no
	}
	c.Remember(in.operation(), in.Values)
	return do(c, in)
}

// actions are the served actions.
var actions = map[string]func(*Cloud, *call) (object, *failure){
	"RunInstances": runInstances, "DescribeInstances": describeInstances, "DeleteInstance": deleteInstance, "StartInstance": startInstance,
	"StopInstance": stopInstance, "RebootInstance": rebootInstance, "TagResources": tagResources, "DescribeInstanceTypes": describeInstanceTypes,
	"DescribeSecurityGroups": describeSecurityGroups, "GetInstanceConsoleOutput": getInstanceConsoleOutput,
	"vpc.DescribeVSwitches": describeVSwitches, "resourcemanager.ListResourceGroups": listResourceGroups, "sts.GetCallerIdentity": getCallerIdentity,
}

func (c call) permitted() *failure {
	if c.service == "sts" || double.Permitted(c.operationOfAction(), c.caller.Allow, c.caller.Deny) {
		return nil
	}
	return refuse("Forbidden.RAM", "User not authorized to operate on the specified resource, or this API doesn't support RAM.")
}

func (c *store) checkRegion(in *call) *failure {
	region := in.Get("RegionId")
	if region == "" || region == c.options.Inventory.Region || c.options.AcceptAny {
		return nil
	}
	return refuse("InvalidRegionId.NotFound", "The specified RegionId does not exist. This is a simulator with the only region %s: "+
		"give it an inventory with the other one (--inventory), or let it take any (--accept-any).", c.options.Inventory.Region)
}

// newID returns a new ID in the form of ECS: a word, and 20 letters and digits.
func newID(kind string) string { return kind + "-bp1" + double.Hex(17) }

func requestID() string { return strings.ToUpper(double.UUID()) }
