// Package cloud is an infrastructure for simulation: instances with parts of
// their own (a disk, a network interface), client tokens that make creation
// idempotent, listings that run behind, slow starts and stops, and sudden
// death. It fails only as its caller's gate tells it to. It is not safe for
// concurrent use.
package cloud

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Traits are what kind of infrastructure it is.
type Traits struct {
	// Lag bounds how far listings run behind; it is declared as
	// [provider.Traits].ReadLag. LagByID: so do look-ups by an instance's own ID.
	Lag     time.Duration
	LagByID bool
	// Boot and Stop bound how long an instance takes to start and to go.
	Boot, Stop time.Duration
	// Lingers: instances that are gone stay listed as terminated.
	Lingers bool
	// Named: sessions can tell which account they open. Hosts: nodes have other
	// names than machines. Scarce: addresses are given to others as soon as they
	// are free.
	Named, Hosts, Scarce bool
	// Unforetold: it does not say under which names nodes will register.
	Unforetold bool
	// Demanding: it needs a spec to know where to ask. ByName: who looks for a machine's
	// instance is shown what has its name, too.
	Demanding, ByName bool

	Habits
}

// Cloud is the infrastructure.
type Cloud struct {
	Traits
	Turns
	Now func() time.Time
	// Roll returns a random number below n.
	Roll func(n int) int
	// Half is asked whether a creation is to fail half way.
	Half func() bool
	// Cut is asked whether a listing is to end early.
	Cut func() bool
	// Fate is asked what becomes of each instance that is accepted; nil: it starts.
	Fate func(*Machine) *Fate
	// Choices are what specs allow to make instances of; none: they name none. Full is
	// asked why there is no room for one; nil: there is.
	Choices []provider.Choice
	Full    func(provider.Choice) *provider.Error
	// Late is for how long the call being carried out was on its way. Listings
	// run behind the caller by Lag in all.
	Late time.Duration
	// OnCreate and OnStop are told of every instance that is made, and of
	// every one that a caller sends away while it runs.
	OnCreate, OnStop func(*Machine)
	// Power is how it reboots instances, OnReboot is told of each that it reboots.
	Power    Power
	OnReboot func(*Machine)
	// Hides is asked whether the cloud denies that there is the instance, Refuses
	// whether it knows what a spec means; nil: never, and always.
	Hides   func(*Machine) bool
	Refuses func() error
	// Others are parts at another infrastructure that is mirrored here, OnKill has an
	// instance taken back there; nil: none is.
	Others func(uid string) []*Part
	OnKill func(*Machine)

	machines []*Machine
	parts    []*Part
}

// Machine is an instance, now or in the past.
type Machine struct {
	Place
	ID, UID, Token string
	Name, IP       string
	// Host is the name of its node.
	Host string
	// Owner and Namespace are those that it was made with; empty when it was made
	// by hand.
	Owner, Namespace        string
	UserData                []byte
	Created, listed, booted time.Time
	// gone is when it ceases, or ceased, to exist; zero while it stays.
	gone time.Time
	// Died says that nobody asked for it.
	Died bool
	// Called is its provider ID where another infrastructure gave it one.
	Called string
	// Choice is what it was made of.
	Choice provider.Choice
	// request is that of its last reboot.
	request string
	end     end
	course
}

// Part is something made for an instance that outlives it.
type Part struct {
	Place
	UID, Name        string
	Owner, Namespace string
	made, listed     time.Time
	// gone is when it was removed.
	gone time.Time
	// held: whoever made it is about to use it.
	held bool
}

// ProviderID is what the instance's node will carry.
func (m *Machine) ProviderID() string { return cmp.Or(m.Called, "sim:///"+m.ID) }

// Exists reports whether the instance exists at now.
func (m *Machine) Exists(now time.Time) bool { return m.gone.IsZero() || now.Before(m.gone) }

// Gone is when it ceases, or ceased, to exist; zero while it stays.
func (m *Machine) Gone() time.Time { return m.gone }

// Runs reports whether it has started and was not sent away.
func (m *Machine) Runs(now time.Time) bool {
	return m.hopeful() && !m.off && !now.Before(m.booted) && m.gone.IsZero()
}

// Machines are all instances that were ever made, oldest first.
func (c *Cloud) Machines() []*Machine { return c.machines }

// Existing are the instances of the machine with the UID, or of all, that
// exist.
func (c *Cloud) Existing(uid string) (out []*Machine) {
	for _, m := range c.machines {
		if (uid == "" || m.UID == uid) && m.Exists(c.Now()) {
			out = append(out, m)
		}
	}
	return out
}

// Parts are the parts, of the machine with the UID or of all, that exist.
func (c *Cloud) Parts(uid string) (out []*Part) {
	if c.Others != nil {
		return c.Others(uid)
	}
	for _, p := range c.parts {
		if (uid == "" || p.UID == uid) && p.gone.IsZero() {
			out = append(out, p)
		}
	}
	return out
}

// Kill makes an instance die by itself.
func (c *Cloud) Kill(m *Machine) {
	if c.OnKill != nil {
		m.Died = true
		c.OnKill(m)
		return
	}
	m.sent(c.Now(), c.Now())
	m.Died = true
}

// Next is when something changes by the passing of time alone; zero: never.
func (c *Cloud) Next() time.Time {
	var next time.Time
	soonest := func(t time.Time) {
		if t.After(c.Now()) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, m := range c.machines {
		soonest(m.booted)
		soonest(m.end.from)
		soonest(m.end.to)
		soonest(m.gone)
		soonest(m.listed)
		soonest(m.gone.Add(c.Lag))
		soonest(m.gone.Add(c.Keeps))
		soonest(m.marked)
		soonest(m.back)
	}
	for _, p := range c.parts {
		soonest(p.listed)
	}
	return next
}

func (c *Cloud) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d * time.Duration(c.Roll(11)) / 10
}

// create makes the parts and the instance, or finds the one of the token.
func (c *Cloud) create(ctx context.Context, class provider.Class, ref provider.Ref, token string, want provider.Want) (*Machine, error) {
	wanted := named(c.Choices, want.Choice)
	n := creation{c: c, at: placeOf(class), ref: ref, token: token, choice: wanted, heedless: ctx.Value(heedless{}) != nil}
	if m := n.found(); m != nil {
		return m, nil
	}
	made, err := chosen(c, want.Choice)
	if err != nil {
		return nil, err
	}
	if err := n.parts(class.Owner); err != nil {
		return nil, err
	}
	if m, err := n.between(); m != nil || err != nil {
		return m, err
	}
	if err := n.taken(); err != nil {
		return nil, err
	}
	m := c.accept(Machine{
		UID: ref.UID, Token: token, Place: n.at, Name: ref.Name, Owner: class.Owner, Namespace: ref.Namespace, UserData: want.UserData, Choice: made,
	})
	c.seal(m)
	c.machines = append(c.machines, m)
	c.OnCreate(m)
	return m, nil
}

// Renamed is how the name of a node begins that its kubelet calls otherwise than the cloud foretells, which is what follows.
const Renamed = "renamed-"

// accept is an instance that is asked for, as it begins.
func (c *Cloud) accept(m Machine) *Machine {
	n, now := len(c.machines)+1, c.Now()
	m.ID, m.IP = fmt.Sprintf("i-%d", n), c.address(n)
	m.Host, m.off = c.host(m.Name, n, m.IP), c.Makes == SwitchedOff
	m.Created, m.listed, m.booted = now, now.Add(c.upTo(c.Lag-c.Late)), now.Add(c.upTo(c.Boot))
	if c.Marks > 0 {
		m.marked = now.Add(c.upTo(c.Marks))
	}
	return &m
}

// Add makes an instance that nobody asked for through the gate, without parts.
func (c *Cloud) Add(at Place, uid, name string) *Machine {
	n, now := len(c.machines)+1, c.Now()
	m := &Machine{
		ID: fmt.Sprintf("i-%d", n), UID: uid, Token: fmt.Sprintf("by hand %d", n), Place: at, Name: name, IP: c.address(n),
		Created: now, listed: now.Add(c.upTo(c.Lag)), booted: now,
	}
	m.Host = c.host(name, n, m.IP)
	c.machines = append(c.machines, m)
	return m
}

// part makes a part unless it is there, which it returns then.
func (c *Cloud) part(made Part) *Part {
	for _, p := range c.Parts(made.UID) {
		if p.Name == made.Name && p.Place == made.Place {
			return p
		}
	}
	made.made, made.listed = c.Now(), c.Now().Add(c.upTo(c.Lag-c.Late))
	c.parts = append(c.parts, &made)
	return &made
}

// shows reports whether a listing shows the instance.
func (c *Cloud) shows(m *Machine) bool {
	now := c.Now()
	if now.Before(m.listed) {
		return false
	}
	return m.Exists(now) || c.Records(m, now) || now.Before(m.gone.Add(c.Lag))
}

// find are the instances that a look-up for ref shows.
func (c *Cloud) find(at Place, ref provider.Ref) (out []*Machine) {
	for _, m := range c.machines {
		if m.Place != at || c.hides(m) {
			continue
		}
		known := !c.LagByID && ref.ProviderID == m.ProviderID() && (m.Exists(c.Now()) || c.Records(m, c.Now()))
		if known || (m.UID == ref.UID || m.ProviderID() == ref.ProviderID) && c.shows(m) {
			out = append(out, m)
		}
	}
	return out
}

// namesakes are instances of others that a look-up for ref shows for their name.
func (c *Cloud) namesakes(at Place, ref provider.Ref) (out []*Machine) {
	if !c.ByName {
		return nil
	}
	for _, m := range c.machines {
		if m.Place == at && m.Name == ref.Name && m.UID != ref.UID && m.ProviderID() != ref.ProviderID && c.shows(m) {
			out = append(out, m)
		}
	}
	return out
}

// remove sends away what was made for the UID of ref and what is given, and then the parts;
// without a UID only what is given. It reports whether nothing is left as far as it can see.
func (c *Cloud) remove(at Place, ref provider.Ref, given []provider.Instance) (done bool, err error) {
	now := c.Now()
	var targets []*Machine
	for _, m := range c.find(at, ref) {
		if ref.UID != "" && m.UID == ref.UID {
			targets = append(targets, m)
		}
	}
	for _, i := range given {
		for _, m := range c.machines {
			if m.ID == i.ID && m.Account == at.Account && m.Region == at.Region {
				targets = append(targets, m)
			}
		}
	}
	left := false
	for _, m := range targets {
		if err := c.busy(m, now); err != nil {
			return false, err
		}
		if !m.leaves(now) {
			c.OnStop(m)
			dismiss(c, m)
			if ref.UID != "" && m.UID != "" && m.UID != ref.UID {
				for _, p := range c.Parts(m.UID) {
					p.gone = m.gone // made for a former UID: it goes with the instance
				}
			}
		}
		left = left || m.Exists(now)
	}
	if left || ref.UID == "" {
		return !left, nil
	}
	return c.removeParts(at, ref.UID), nil
}

// removeParts removes what can be seen and is not in use.
func (c *Cloud) removeParts(at Place, uid string) bool {
	for _, p := range c.Parts(uid) {
		if c.Now().Before(p.listed) || p.Place != at {
			continue
		}
		switch used := c.user(p); {
		case used == nil:
		case c.hides(used):
			continue
		default:
			return false // in use
		}
		p.gone = c.Now()
	}
	return true
}
