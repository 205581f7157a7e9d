// Package cloud is a simulated cloud: instances with parts of their own (a disk, a network interface), client
// tokens that make creation idempotent, listings that lag, slow starts and stops, and sudden death. It fails only
// when its caller's gate says so. It is not safe for concurrent use.
package cloud

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Traits describe the kind of cloud.
type Traits struct {
	// Lag bounds the delay of listings; the provider declares it as [provider.Traits].ReadLag. LagByID: look-ups by an instance's
	// own ID lag, too.
	Lag     time.Duration
	LagByID bool
	// Boot and Stop bound how long an instance takes to start and to terminate.
	Boot, Stop time.Duration
	// Lingers: terminated instances stay listed.
	Lingers bool
	// Named: sessions can tell which account they open. Hosts: nodes have other names than machines. Scarce: addresses are
	// reused as soon as they are free.
	Named, Hosts, Scarce bool
	// Unforetold: the cloud does not predict the names of nodes.
	Unforetold bool
	// Demanding: the cloud needs a spec to know where to look. ByName: the look-up of a machine's instance also shows instances
	// with the machine's name.
	Demanding, ByName bool

	Habits
}

// Cloud is the simulated cloud.
type Cloud struct {
	Traits
	Turns
	Now func() time.Time
	// Roll returns a random number below n.
	Roll func(n int) int
	// Half reports whether a creation fails half way.
	Half func() bool
	// Cut reports whether a listing ends early.
	Cut func() bool
	// StartFailure returns the failure of an accepted instance; nil: it starts.
	StartFailure func(*Machine) *StartFailure
	// Choices are the choices that specs allow for instances; empty: specs name none. Full returns the reason for which a choice
	// has no capacity; nil: it has capacity.
	Choices []provider.Choice
	Full    func(provider.Choice) *provider.Error
	// Late is how long the present call was on its way. Listings lag behind the caller by at most Lag in all.
	Late time.Duration
	// OnCreate and OnStop are called for each new instance, and for each running one that a caller terminates.
	OnCreate, OnStop func(*Machine)
	// Power is how the cloud reboots instances. OnReboot is called for each reboot.
	Power    Power
	OnReboot func(*Machine)
	// Hides reports whether the cloud hides the instance; nil: it hides none. Refuses returns an error if the cloud refuses the
	// spec; nil: it refuses none.
	Hides   func(*Machine) bool
	Refuses func() error
	// Others are parts at another cloud that is mirrored here. OnKill terminates an instance there. Nil: no cloud is
	// mirrored.
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
	// Host is the name of the instance's node.
	Host string
	// Owner and Namespace are the instance's tags; empty if users created it.
	Owner, Namespace        string
	UserData                []byte
	Created, listed, booted time.Time
	// gone is the end of its existence, also in the future; zero while it stays.
	gone time.Time
	// Died: no client terminated it.
	Died bool
	// Called is its provider ID at another cloud.
	Called string
	// Choice is the choice that it was created with.
	Choice provider.Choice
	// request is the request of its last reboot.
	request string
	end     end
	progress
}

// Part is a resource of an instance that outlives it.
type Part struct {
	Place
	UID, Name        string
	Owner, Namespace string
	made, listed     time.Time
	// gone is the time of its removal.
	gone time.Time
	// held: its creator is about to use it.
	held bool
}

// ProviderID is the provider ID of the instance's node.
func (m *Machine) ProviderID() string { return cmp.Or(m.Called, "sim:///"+m.ID) }

// Exists reports whether the instance exists at now.
func (m *Machine) Exists(now time.Time) bool { return m.gone.IsZero() || now.Before(m.gone) }

// Gone is the end of its existence, also in the future; zero while it stays.
func (m *Machine) Gone() time.Time { return m.gone }

// Runs reports whether the instance has started and was not terminated.
func (m *Machine) Runs(now time.Time) bool {
	return m.startsEventually() && !m.off && !now.Before(m.booted) && m.gone.IsZero()
}

// Machines are all instances ever created, oldest first.
func (c *Cloud) Machines() []*Machine { return c.machines }

// Existing are the existing instances of the machine with the UID, or all existing instances.
func (c *Cloud) Existing(uid string) (out []*Machine) {
	for _, m := range c.machines {
		if (uid == "" || m.UID == uid) && m.Exists(c.Now()) {
			out = append(out, m)
		}
	}
	return out
}

// Parts are the existing parts of the machine with the UID, or all existing parts.
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

// Next is the time of the next change without a call; zero: never.
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

// create creates the parts and the instance, or finds the instance of the token.
func (c *Cloud) create(ctx context.Context, class provider.Class, ref provider.Ref, token string, want provider.Want) (*Machine, error) {
	wanted := named(c.Choices, want.Choice)
	n := creation{c: c, at: placeOf(class), ref: ref, token: token, choice: wanted, ignoresOwner: ctx.Value(ignoresOwner{}) != nil}
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
	c.decideFailure(m)
	c.machines = append(c.machines, m)
	c.OnCreate(m)
	return m, nil
}

// Renamed is the prefix of the node names of kubelets that do not use the cloud's predicted name.
const Renamed = "renamed-"

// accept is the beginning of a requested instance.
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

// Add creates an instance without a request through the gate, and without parts.
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

// part creates a part, or returns the existing one.
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

// shows reports whether a listing shows the instance now.
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

// namesakes are instances of other machines that a look-up for ref shows because of their name.
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

// remove terminates the instances of ref's UID and the given instances, and then deletes the parts; without a UID only the
// given instances. It reports whether nothing is left that it can see.
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
			terminate(c, m)
			if ref.UID != "" && m.UID != "" && m.UID != ref.UID {
				for _, p := range c.Parts(m.UID) {
					p.gone = m.gone // a part of a former UID: it is deleted with the instance
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

// removeParts deletes the visible parts that no instance uses.
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
			return false // an instance uses it
		}
		p.gone = c.Now()
	}
	return true
}
