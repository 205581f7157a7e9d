package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Habits are what some clouds do and others do not. The zero value has none.
type Habits struct {
	// Like is the cloud that has them; empty: none in particular.
	Like string
	// Recalls is for how long after a creation its token stands for what it made, gone or
	// not. Once that is over it stands for what exists only; zero: it is never over.
	Recalls time.Duration
	// Keeps is how long what is gone stays listed where it Lingers; zero: for ever.
	// Operations: only what was given up does, as the operation that was to make it.
	Keeps      time.Duration
	Operations bool
	// Marks bounds for how long an instance does not say yet whose it is: its tags are
	// written, or seen, later.
	Marks time.Duration
	// Makes is how instances are made.
	Makes Making
	// Unique: no two instances of a place have one name. Busy: what is being made, or
	// started, cannot be removed.
	Unique, Busy bool
	// Addressed: nodes are called by their addresses.
	Addressed bool
	// Limit is on all calls of the account.
	Limit Limit
}

// Limit is on calls: so many at once, and so many in a minute. After is for how long
// nothing is let through once there were more, which is told; zero: they are refused one
// by one, and nothing is told. The zero value: there is none.
type Limit struct {
	AtOnce, PerMinute int
	After             time.Duration
}

// Making is how a cloud makes instances.
type Making string

// The ways. The zero value is by one call.
const (
	// InSteps: disk and interface come first, by their names, and the instance by another
	// call. Much may happen in between.
	InSteps Making = "in steps"
	// ByInterface: so it is, and no token is known: whoever makes the interface may ask for
	// the instance, and others wait for [lease].
	ByInterface Making = "by its interface"
	// InZones: by one call, whose token stands for what it made in one zone only.
	InZones Making = "in zones"
	// SwitchedOff: by one call, and off, until it is initialized.
	SwitchedOff Making = "switched off"
)

// WhileThere is the [Habits.Recalls] of clouds that know what they made by what is there.
const WhileThere = time.Nanosecond

// lease is for how long an interface is left to who made it.
const lease = time.Minute

// Turns are what else may happen while a cloud does something.
type Turns struct {
	// Between is called between the steps of a creation; nil: nothing happens there.
	Between func()
	// Undoes is asked whether a removal that is accepted is to fail later; nil: none is.
	Undoes func(*Machine) bool
}

// course is how far an instance has come.
type course struct {
	// marked is from when on it says whose it is, back until when a removal is under way
	// that fails. off: nobody has started it yet.
	marked, back time.Time
	off          bool
}

// recalls reports whether the token of m still stands for it.
func (h Habits) recalls(m *Machine, now time.Time) bool {
	return h.Recalls == 0 || m.Exists(now) || now.Before(m.Created.Add(h.Recalls))
}

// Records reports whether an instance that is gone is still listed.
func (t Traits) Records(m *Machine, now time.Time) bool {
	if !t.Lingers || t.Operations && !m.end.vanishes {
		return false
	}
	return t.Keeps == 0 || now.Before(m.gone.Add(t.Keeps))
}

// heedless is the key of what [Heedless] puts into a context.
type heedless struct{}

// Heedless lets creations under ctx ask for an instance whoever has its interface, as a
// provider does that does not look.
func Heedless(ctx context.Context) context.Context { return context.WithValue(ctx, heedless{}, true) }

// creation is one of an instance.
type creation struct {
	c      *Cloud
	at     Place
	ref    provider.Ref
	token  string
	choice provider.Choice
	// nic is its interface; heedless: it does not look whether that is its own.
	nic      *Part
	heedless bool
}

// found is what was made under its token; nil: nothing that the cloud knows of.
func (n *creation) found() *Machine {
	for _, m := range n.c.machines {
		elsewhere := n.c.Makes == InZones && m.Choice.Zone != n.choice.Zone
		if m.Token == n.token && m.Place == n.at && !elsewhere && n.c.recalls(m, n.c.Now()) {
			return m
		}
	}
	return nil
}

// parts makes the parts. An error says that somebody else is about to use them.
func (n *creation) parts(owner string) error {
	c, of := n.c, Part{Place: n.at, UID: n.ref.UID, Owner: owner, Namespace: n.ref.Namespace}
	disk, nic := of, of
	disk.Name, nic.Name = "disk", "nic"
	c.part(disk)
	n.nic = c.part(nic)
	if c.Makes == ByInterface && n.nic.held && !n.heedless {
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

// between lets others come in before the instance is asked for, and returns what they made
// in its place. An error says that it may not be asked for any more.
func (n *creation) between() (*Machine, error) {
	if n.c.Makes != InSteps && n.c.Makes != ByInterface {
		return nil, nil
	}
	if n.c.Between != nil {
		n.c.Between()
	}
	if n.heedless {
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

// taken is an error where another machine's instance has the name.
func (n *creation) taken() error {
	for _, m := range n.c.machines {
		if n.c.Unique && m.Place == n.at && m.Name == n.ref.Name && m.UID != n.ref.UID && m.Exists(n.c.Now()) {
			return provider.Errorf(provider.Conflict, "the name %s is taken by instance %s", n.ref.Name, m.ID)
		}
	}
	return nil
}

// initializer is a session whose instances are made switched off.
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

// busy is an error where m cannot be removed now.
func (t Traits) busy(m *Machine, now time.Time) error {
	given := !m.hopeful() && !now.Before(m.end.from)
	if !t.Busy || given || m.leaves(now) || !now.Before(m.booted) {
		return nil
	}
	return provider.Errorf(provider.Conflict, "instance %s is still being made", m.ID)
}

// dismiss sends an instance away. Where its removal is accepted and fails later, it stays.
func dismiss(c *Cloud, m *Machine) {
	now, takes := c.Now(), c.upTo(c.Stop)
	if c.Undoes != nil && c.Undoes(m) {
		m.back = now.Add(time.Second + takes)
		return
	}
	m.sent(now, now.Add(takes))
}
