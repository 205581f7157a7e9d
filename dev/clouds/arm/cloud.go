package arm

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Options are the options of a simulator.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown applications, tenants, subscriptions, locations, zones, sizes, resource
	// groups, networks, images and other references.
	AcceptAny bool
	// Boot is how long a virtual machine is Creating, Delete how long it is Deleting; 0 means 20 s and 10 s.
	Boot, Delete time.Duration
	// Network is how long interfaces, addresses, and separately created disks are Updating after their
	// creation. In Azure that usually ends before the answer, as it does here with 0.
	Network time.Duration
	// PageSize is the number of resources on a page of a listing; 0 means 100.
	PageSize int
}

// Cloud is a simulator of Azure behind a [double.Server]. It is safe for concurrent use.
type Cloud struct {
	clock *double.Clock
	Options
	double.Controls
	// Conditions have the capacity of zones and of zone/size, or of locations for machines without a zone, and the lag of listings and of
	// Resource Graph. Reads of one resource never lag.
	double.Conditions

	mu sync.Mutex // held during changes of several tables
	store
	tokens map[string]token
	serial int
	terms  map[string]bool // of images, if accepted
	// revoked are the accounts whose secrets are revoked. sample is the account in the samples.
	revoked []Account
	sample  Account
	// shut: applications that are not in the inventory get no tokens.
	shut bool
}

// store has all created resources, by ID in lower case.
type store struct {
	vms        *double.Table[*machine]
	nics       *double.Table[*nic]
	disks      *double.Table[*disk]
	addresses  *double.Table[*address]
	sets       *double.Table[*availabilitySet]
	operations *double.Table[operation]
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cloud with only its inventory.
func New(clock *double.Clock, o Options) *Cloud {
	o.Boot, o.Delete = cmp.Or(o.Boot, 20*time.Second), cmp.Or(o.Delete, 10*time.Second)
	o.PageSize = cmp.Or(o.PageSize, 100)
	o.Inventory.Accounts = append([]Account{}, o.Inventory.Accounts...)
	c := &Cloud{
		clock: clock, Options: o, tokens: map[string]token{}, terms: map[string]bool{},
		store: store{
			vms: double.NewTable[*machine](clock), nics: double.NewTable[*nic](clock), disks: double.NewTable[*disk](clock),
			addresses: double.NewTable[*address](clock), sets: double.NewTable[*availabilitySet](clock), operations: double.NewTable[operation](clock),
		},
	}
	c.sample, c.Controls = first(o.Inventory), controls(c)
	return c
}

// Operation implements [double.Cloud]: "PUT virtualMachines", "LIST networkInterfaces", "POST virtualMachines/start", "POST token".
func (c *Cloud) Operation(r *http.Request, _ []byte) (name string, writes bool) {
	t := parse(r)
	switch {
	case t.login != "":
		return r.Method + " " + t.login, false
	case t.kind == "":
		return r.Method + " " + r.URL.Path, r.Method != http.MethodGet
	case t.method() == "LIST":
		return "LIST " + t.kind, false
	case t.action != "":
		return r.Method + " " + t.kind + "/" + t.action, t.action != "retrieveBootDiagnosticsData"
	case t.kind == graph:
		return "POST " + graph, false
	}
	return r.Method + " " + t.kind, r.Method != http.MethodGet && r.Method != http.MethodHead
}

// Serve implements [double.Cloud].
func (c *Cloud) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	t := parse(r)
	switch {
	case t.login != "":
		directory{c}.login(w, r, t)
		return
	case strings.HasPrefix(r.URL.Path, metadataPath):
		metadata(c, w, r)
		return
	case strings.HasPrefix(r.URL.Path, consolePath):
		serialLog(c, w, r)
		return
	}
	account, refusal := directory{c}.authenticate(r, t)
	if refusal != nil {
		refusal.write(w)
		return
	}
	(&call{Cloud: c, target: t, account: account, w: w, r: r, body: body}).serve()
}

// SetSecret changes the secret of an application, and revokes its tokens.
func (c *Cloud) SetSecret(client, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; a.ClientID == client {
			a.ClientSecret = secret
		}
	}
	forget(c, client)
}

// Restrict replaces the role of an application by a role with these actions; without arguments, the role has all actions.
func (c *Cloud) Restrict(client string, actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; a.ClientID == client {
			a.Actions = actions
		}
	}
}

// RestrictAtSubscription is Restrict for resources that are in no resource group.
func (c *Cloud) RestrictAtSubscription(client string, actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; a.ClientID == client {
			a.SubscriptionActions = actions
		}
	}
}

// settle applies what is due: it removes deleted machines and their dependants.
func (c *Cloud) settle() {
	now := c.clock.Now()
	for _, m := range c.vms.All() {
		if !m.deleted.IsZero() && !now.Before(m.deleted.Add(c.Delete)) {
			drop(c, m)
		}
	}
}

// number is a counter for unique names and addresses.
func (c *Cloud) number() int {
	c.serial++
	return c.serial
}
