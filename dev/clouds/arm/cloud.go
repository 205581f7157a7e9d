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
	// AcceptAny: applications, tenants, subscriptions, locations, zones, sizes, resource groups, networks, images and whatever else is referred
	// to is taken as if it were there.
	AcceptAny bool
	// Boot is how long a virtual machine is Creating, Delete how long Deleting; 0 for 20 s and 10 s.
	Boot, Delete time.Duration
	// Network is how long interfaces, addresses, and disks that are made by themselves, are Updating after they were made. In Azure that is mostly over before the
	// answer comes, as it is here with 0.
	Network time.Duration
	// PageSize is how many resources are on a page of a listing; 0 for 100.
	PageSize int
}

// Cloud is a simulator of Azure behind a [double.Server]. It is safe for concurrent use.
type Cloud struct {
	clock *double.Clock
	Options

	mu sync.Mutex // what changes several tables at once holds it
	store
	tokens map[string]token
	// shortages are what is sold out, by "zone[/size]" in lower case; the zone of a machine without one is its location.
	shortages map[string]bool
	lag       time.Duration
	serial    int
	terms     map[string]bool // of images that were accepted
	// revoked are the accounts whose secrets hold no more, sample is the one that stands in samples.
	revoked []Account
	sample  Account
	// shut: applications that the inventory does not have get no tokens.
	shut bool
}

// store is all that was made, by ID in lower case.
type store struct {
	vms        *double.Table[*machine]
	nics       *double.Table[*nic]
	disks      *double.Table[*disk]
	addresses  *double.Table[*address]
	sets       *double.Table[*availabilitySet]
	operations *double.Table[operation]
}

var (
	_ double.Cloud     = &Cloud{}
	_ double.Host      = &Cloud{}
	_ double.Inspected = &Cloud{}
)

// New returns a cloud with nothing in it but its inventory.
func New(clock *double.Clock, o Options) *Cloud {
	o.Boot, o.Delete = cmp.Or(o.Boot, 20*time.Second), cmp.Or(o.Delete, 10*time.Second)
	o.PageSize = cmp.Or(o.PageSize, 100)
	o.Inventory.Accounts = append([]Account{}, o.Inventory.Accounts...)
	c := &Cloud{
		clock: clock, Options: o, tokens: map[string]token{}, shortages: map[string]bool{}, terms: map[string]bool{},
		store: store{
			vms: double.NewTable[*machine](clock), nics: double.NewTable[*nic](clock), disks: double.NewTable[*disk](clock),
			addresses: double.NewTable[*address](clock), sets: double.NewTable[*availabilitySet](clock), operations: double.NewTable[operation](clock),
		},
	}
	c.sample = first(o.Inventory)
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

// SetLag lets listings, and Resource Graph, run behind from now on. Reads of one resource never do.
func (c *Cloud) SetLag(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = d
}

// SetSecret changes the secret of an application, whose tokens are worthless from then on.
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

// Restrict leaves an application a role with these actions; none: everything.
func (c *Cloud) Restrict(client string, actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; a.ClientID == client {
			a.Actions = actions
		}
	}
}

// RestrictAtSubscription is Restrict for what is in no resource group.
func (c *Cloud) RestrictAtSubscription(client string, actions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.Inventory.Accounts {
		if a := &c.Inventory.Accounts[i]; a.ClientID == client {
			a.SubscriptionActions = actions
		}
	}
}

// settle does what is due: it removes deleted machines, and their dependants.
func (c *Cloud) settle() {
	now := c.clock.Now()
	for _, m := range c.vms.All() {
		if !m.deleted.IsZero() && !now.Before(m.deleted.Add(c.Delete)) {
			drop(c, m)
		}
	}
}

// number counts up, for names and addresses that are unique.
func (c *Cloud) number() int {
	c.serial++
	return c.serial
}
