package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Habits are the properties of some clouds. The zero value has none.
type Habits struct {
	// Like is the cloud that has the habits; empty: no particular cloud.
	Like string
	// Recalls is how long after a creation its token returns the instance, terminated or not. After that, the token returns only
	// an existing instance; zero: the token returns it for ever.
	Recalls time.Duration
	// Keeps is how long terminated instances stay listed if the cloud Lingers; zero: for ever. Operations: only failed instances
	// stay listed, as their create operation.
	Keeps      time.Duration
	Operations bool
	// Marks bounds how long an instance has no owner tags: tags are written or become visible later.
	Marks time.Duration
	// Makes is the way in which the cloud creates instances.
	Makes Making
	// Unique: names are unique within a place. Busy: an instance that is being created or started cannot be terminated.
	Unique, Busy bool
	// Addressed: node names come from addresses.
	Addressed bool
	// Limit bounds all calls of the account.
	Limit Limit
}

// Limit bounds calls: the burst, and the calls in a minute. After is how long every call is refused after calls exceeded the
// limit; the error reports it. If After is zero, each excess call is refused, and the error names no time. The zero value is no
// limit.
type Limit struct {
	AtOnce, PerMinute int
	After             time.Duration
}

// Making is a way in which a cloud creates instances.
type Making string

// The ways. The zero value creates an instance by one call.
const (
	// InSteps: a first call creates disk and interface, by their names, and another call creates the instance. Other calls may
	// happen between these calls.
	InSteps Making = "in steps"
	// ByInterface: like InSteps, but without tokens. The creator of the interface may create the instance, and others wait for
	// [lease].
	ByInterface Making = "by its interface"
	// InZones: by one call, whose token returns the instance in one zone only.
	InZones Making = "in zones"
	// SwitchedOff: by one call; the instance is off until it is initialized.
	SwitchedOff Making = "switched off"
)

// WhileThere is the [Habits.Recalls] of clouds that have no tokens but their existing resources.
const WhileThere = time.Nanosecond

// lease is how long an interface is reserved for its creator.
const lease = time.Minute

// Turns are callbacks in the middle of the cloud's operations.
type Turns struct {
	// Between is called between the steps of a creation, if set.
	Between func()
	// RemovalFails reports whether an accepted removal fails later; nil: none does.
	RemovalFails func(*Machine) bool
}

// progress is an instance's progress.
type progress struct {
	// marked is the time at which its owner tags become visible, back the time at which a removal in progress fails. off: no
	// client has started it yet.
	marked, back time.Time
	off          bool
}

// recalls reports whether the token of m still returns m.
func (h Habits) recalls(m *Machine, now time.Time) bool {
	return h.Recalls == 0 || m.Exists(now) || now.Before(m.Created.Add(h.Recalls))
}

// Records reports whether a terminated instance is still listed.
func (t Traits) Records(m *Machine, now time.Time) bool {
	if !t.Lingers || t.Operations && !m.end.vanishes {
		return false
	}
	return t.Keeps == 0 || now.Before(m.gone.Add(t.Keeps))
}

// ignoresOwner is the key of [IgnoreInterfaceOwner] in a context.
type ignoresOwner struct{}

// IgnoreInterfaceOwner lets creations under ctx use the interface of any creator, like a provider that does not
// check.
func IgnoreInterfaceOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ignoresOwner{}, true)
}

// creation is the creation of an instance.
type creation struct {
	c      *Cloud
	at     Place
	ref    provider.Ref
	token  string
	choice provider.Choice
	// nic is the interface; ignoresOwner: the creation does not check that it created the interface itself.
	nic          *Part
	ignoresOwner bool
}

// found returns the instance of the creation's token; nil if the cloud knows none.
func (n *creation) found() *Machine {
	for _, m := range n.c.machines {
		elsewhere := n.c.Makes == InZones && m.Choice.Zone != n.choice.Zone
		if m.Token == n.token && m.Place == n.at && !elsewhere && n.c.recalls(m, n.c.Now()) {
			return m
		}
	}
	return nil
}

// parts creates the parts. The error says that another process is about to use them.
func (n *creation) parts(owner string) error {
	c, of := n.c, Part{Place: n.at, UID: n.ref.UID, Owner: owner, Namespace: n.ref.Namespace}
	disk, nic := of, of
	disk.Name, nic.Name = "disk", "nic"
	c.part(disk)
	n.nic = c.part(nic)
	if c.Makes == ByInterface && n.nic.held && !n.ignoresOwner {
		if age := c.Now().Sub(n.nic.made); age < lease {
			return provider.Errorf(provider.Conflict, "its interface was made %v ago by another process", age)
		}
		n.nic.gone = c.Now()
		n.nic = c.part(nic)
	}
	n.nic.held = true
	if c.Half() {
		n.nic.held = false
		return provider.Errorf(provider.Transient, "the instance could not be started; its disk and interface were made")
	}
	return nil
}

// between lets other processes run before the instance is requested, and returns the instance that they created instead. The
// error says that the request must not be sent any more.
func (n *creation) between() (*Machine, error) {
	if n.c.Makes != InSteps && n.c.Makes != ByInterface {
		return nil, nil
	}
	if n.c.Between != nil {
		n.c.Between()
	}
	if n.ignoresOwner {
		return nil, nil
	}
	if m := n.found(); m != nil {
		return m, nil
	}
	if !n.nic.gone.IsZero() {
		return nil, provider.Errorf(provider.Conflict, "its interface was removed meanwhile")
	}
	return nil, nil
}

// taken returns an error if an instance of another machine has the name.
func (n *creation) taken() error {
	for _, m := range n.c.machines {
		if n.c.Unique && m.Place == n.at && m.Name == n.ref.Name && m.UID != n.ref.UID && m.Exists(n.c.Now()) {
			return provider.Errorf(provider.Conflict, "the name %s is taken by instance %s", n.ref.Name, m.ID)
		}
	}
	return nil
}

// initializer is a session whose instances are created switched off.
type initializer struct{ session }

// Initialize implements [provider.Initializer].
func (s initializer) Initialize(_ context.Context, ref provider.Ref, i provider.Instance) error {
	return s.call(Call{Verb: "initialize", Ref: ref, Given: []string{i.ID}}, func() error {
		now := s.Cloud.Now()
		for _, m := range s.Cloud.find(placeOf(s.class), ref) {
			if m.ID == i.ID && m.off && !m.leaves(now) {
				m.off, m.booted = false, now.Add(s.Cloud.upTo(s.Cloud.Boot))
			}
		}
		return nil
	})
}

// busy returns an error if m cannot be terminated now.
func (t Traits) busy(m *Machine, now time.Time) error {
	given := !m.startsEventually() && !now.Before(m.end.from)
	if !t.Busy || given || m.leaves(now) || !now.Before(m.booted) {
		return nil
	}
	return provider.Errorf(provider.Conflict, "instance %s is still being made", m.ID)
}

// terminate terminates an instance. If the accepted removal fails later, the instance stays.
func terminate(c *Cloud, m *Machine) {
	now, takes := c.Now(), c.upTo(c.Stop)
	if c.RemovalFails != nil && c.RemovalFails(m) {
		m.back = now.Add(time.Second + takes)
		return
	}
	m.sent(now, now.Add(takes))
}
