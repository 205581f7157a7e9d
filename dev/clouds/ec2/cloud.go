package ec2

import (
	"cmp"
	"fmt"
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
	// AcceptAny accepts unknown credentials, regions, images, networks, groups, types and so on.
	AcceptAny bool
	// AcceptFilters generates the objects that filters describe: subnets, security groups, images. It requires AcceptAny.
	AcceptFilters bool
	// Boot is how long an instance is pending, Delete how long it takes to stop or end. 0 means 3 s and 4
	// s.
	Boot, Delete time.Duration
	// Keep is how long ended instances stay listed; 0 means an hour.
	Keep time.Duration
	// PageSize limits the pages of listings; 0 means 1000.
	PageSize int
}

func (o Options) complete() Options {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&o.Boot, 3 * time.Second}, {&o.Delete, 4 * time.Second}, {&o.Keep, time.Hour}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	if o.PageSize == 0 {
		o.PageSize = 1000
	}
	return o
}

// Cloud is one region of AWS.
type Cloud struct {
	*store
	authenticator
	launcher
	describer
	balancers
	reconciler
	imds
}

// The methods of a cloud are on separate types, one for each subject. Each of them is the store.
type (
	authenticator struct{ *store } // authenticates callers
	launcher      struct{ *store } // creates instances
	describer     struct{ *store } // describes instances
	balancers     struct{ *store } // load balancers
	reconciler    struct{ *store } // applies the effects of changes
	imds          struct{ *store } // metadata for guests
	launchTokens  struct{ *store } // finds the instances of tokens
	generator     struct{ *store } // generates objects that requests name and the inventory does not have
)

// store has the state of a cloud.
type store struct {
	options Options
	clock   *double.Clock

	instances  *double.Table[instance]
	volumes    *double.Table[volume]
	interfaces *double.Table[networkInterface]
	hosts      *double.Table[host]

	double.Controls
	double.Conditions // the capacity of zones, and of zone/type
	double.Inbox[url.Values]
	*double.Credentials[Credential]
	roles *double.Credentials[Role]

	mu      sync.Mutex // of writes, and of the fields below
	made    int
	tokens  map[string]answered
	targets map[string][]target // by load balancer or target group
	sample  Credential          // in the samples
	foreign *foreign
}

// answered is the outcome of a request with a token.
type answered struct {
	request string
	ids     []string
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with a clock.
func New(clock *double.Clock, o Options) *Cloud {
	c := &store{
		options: o.complete(), clock: clock,
		instances: double.NewTable[instance](clock), volumes: double.NewTable[volume](clock),
		interfaces: double.NewTable[networkInterface](clock), hosts: double.NewTable[host](clock),
		tokens: map[string]answered{}, targets: map[string][]target{}, foreign: &foreign{},
		Credentials: double.NewCredentials(o.AcceptAny, o.Inventory.first, o.Inventory.Credentials...), roles: double.NewCredentials(o.AcceptAny, nil, o.Inventory.Roles...),
	}
	c.SetCapacity(o.Inventory.Capacity)
	c.Controls = reconciler{c}.controls()
	if len(o.Inventory.Credentials) > 0 {
		c.sample = o.Inventory.Credentials[0]
	}
	for _, h := range o.Inventory.Hosts {
		c.hosts.Put(h.ID, host{ID: h.ID, Zone: h.Zone, Type: h.Type, Tags: h.Tags, Allocated: clock.Now(), AutoPlacement: "on"})
	}
	return &Cloud{store: c, authenticator: authenticator{c}, launcher: launcher{c}, describer: describer{c}, balancers: balancers{c}, reconciler: reconciler{c}, imds: imds{c}}
}

// service is a service of AWS.
type service string

// versions are the API versions, which identify the service of a request.
var versions = map[string]service{"2016-11-15": "ec2", "2012-06-01": "elb", "2015-12-01": "elbv2", "2011-06-15": "sts"}

func (s service) namespace() string {
	switch s {
	case "elb":
		return "http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/"
	case "elbv2":
		return "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"
	case "sts":
		return "https://sts.amazonaws.com/doc/2011-06-15/"
	}
	return "http://ec2.amazonaws.com/doc/2016-11-15/"
}

// signingName is the service's name in signatures.
func (s service) signingName() string {
	switch s {
	case "elb", "elbv2":
		return "elasticloadbalancing"
	}
	return string(s)
}

// call is a decoded request.
type call struct {
	form.Form
	service service
	action  string
	// account is the caller's account, request the ID of the answer, region the region of the request.
	account, request, region string
	caller                   Credential
}

func read(body []byte) call {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		values = url.Values{}
	}
	return call{Form: form.Form{Values: values}, service: versions[values.Get("Version")], action: values.Get("Action")}
}

// operation is the name of the action, with the service as a prefix for services other than EC2, and with a suffix for later pages.
func (c call) operation() string {
	name := c.action
	if c.service != "ec2" {
		name = string(c.service) + "." + name
	}
	if c.Get("NextToken") != "" || c.Get("Marker") != "" {
		name += "+"
	}
	return name
}

// Operation implements [double.Cloud].
func (c *Cloud) Operation(_ *http.Request, body []byte) (name string, writes bool) {
	in := read(body)
	reads := strings.HasPrefix(in.action, "Describe") || strings.HasPrefix(in.action, "Get") || strings.HasPrefix(in.action, "Assume")
	return in.operation(), !reads
}

// Fail implements [double.Cloud].
func (c *Cloud) Fail(w http.ResponseWriter, r *http.Request, f double.Failure) {
	in := read(bodyOf(r))
	writeFailure(w, in.service, double.UUID(), worded(in.service, f))
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	in := read(body)
	in.request = double.UUID()
	c.settle()
	answer, no := c.serve(r, body, &in)
	if no != nil {
		writeFailure(w, in.service, in.request, no)
		return
	}
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	_, _ = w.Write(in.reply(answer))
}

// reply is the answer in the form of the service.
func (c call) reply(answer []node) []byte {
	root := node{name: c.action + "Response"}
	if c.service == "ec2" {
		root.kids = append([]node{el("requestId", c.request)}, answer...)
	} else {
		root.kids = []node{
			{name: c.action + "Result", kids: answer},
			el("ResponseMetadata", el("RequestId", c.request)),
		}
	}
	return document(root, c.service.namespace())
}

func (c *Cloud) serve(r *http.Request, body []byte, in *call) ([]node, *failure) {
	if in.service == "" {
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service", in.action)
	}
	if no := c.authenticate(r, body, in); no != nil {
		return nil, no
	}
	do, ok := actions[in.operationOfAction()]
	if !ok {
		return nil, refuse("InvalidAction", "The action %s is not valid for this web service", in.action)
	}
	if no := in.permitted(); no != nil {
		return nil, no
	}
	c.Remember(in.operation(), in.Values)
	return do(c, in)
}

// operationOfAction is the operation without the suffix of pages.
func (c call) operationOfAction() string { return strings.TrimSuffix(c.operation(), "+") }

// authenticate identifies the caller, or returns the error of the requested service.
func (c authenticator) authenticate(r *http.Request, body []byte, in *call) *failure {
	in.account, in.region = c.options.Inventory.Account, c.options.Inventory.Region
	if in.service == "sts" && in.action == "AssumeRoleWithWebIdentity" {
		return nil // the only credentials are the token
	}
	s, ok := signatureOf(r)
	if !ok {
		return in.unknown("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	no := in.unknown("InvalidClientTokenId", "The security token included in the request is invalid.")
	if known, ok := c.Credentials.Find(func(k Credential) bool { return k.AccessKeyID == s.key }); ok {
		if no = c.refuses(known, s, in, r, body); no == nil {
			in.caller, in.account = known, cmp.Or(known.Account, in.account)
		}
	}
	if c.AcceptsUnknown() {
		in.caller.AccessKeyID, in.region, no = s.key, s.region, nil
	}
	return no
}

// refuses returns the reason for which a request that known has signed is refused; nil if it is accepted.
func (c authenticator) refuses(known Credential, s signed, in *call, r *http.Request, body []byte) *failure {
	switch {
	case s.stale(time.Now()):
		return refuse("RequestExpired", "Request has expired. Timestamp date is %s", s.at)
	case s.service != in.service.signingName():
		return in.unknown("SignatureDoesNotMatch", fmt.Sprintf("Credential should be scoped to service %s, not to %s", in.service.signingName(), s.service))
	case s.region != c.options.Inventory.Region:
		return refuse("InvalidParameterValue", "Invalid region: [%s]. This is a simulator of AWS, not AWS, with the only region %s: "+
			"give it an inventory with the other one (--inventory), or let it take any (--accept-any).", s.region, c.options.Inventory.Region)
	case !s.holds(r, body, known.SecretAccessKey):
		return in.unknown("SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	case r.Header.Get("X-Amz-Security-Token") != known.SessionToken:
		return in.unknown("InvalidClientTokenId", "The security token included in the request is invalid.")
	}
	return nil
}

// unknown is the service's error for unknown credentials: EC2 has one code for all such cases.
func (c call) unknown(code, message string) *failure {
	if c.service == "ec2" {
		return refuse("AuthFailure", "AWS was not able to validate the provided access credentials")
	}
	return refuse(code, "%s", message)
}

func (c call) permitted() *failure {
	if c.service == "sts" || double.Permitted(c.operationOfAction(), c.caller.Allow, c.caller.Deny) {
		return nil
	}
	if c.service == "ec2" {
		return refuse("UnauthorizedOperation", "You are not authorized to perform this operation. User: arn:aws:iam::%s:user/machines is not authorized to perform: ec2:%s", c.account, c.action)
	}
	return refuse("AccessDenied", "User: arn:aws:iam::%s:user/machines is not authorized to perform: elasticloadbalancing:%s", c.account, c.action)
}

// next is a new number; the caller holds the lock.
func (c *store) next() int {
	c.made++
	return c.made
}

// newID returns a new ID in AWS's form: a word and 17 hexadecimal digits.
func newID(kind string) string { return kind + "-0" + double.Hex(16) }
