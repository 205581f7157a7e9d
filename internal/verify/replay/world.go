package replay

import (
	"slices"
	"time"
)

// How the world goes on.
const (
	tick = 10 * time.Second
	// provisioned is when after its creation a machine's status last changes
	// until it has a node; leaving is how long a deletion takes.
	provisioned = time.Minute
	leaving     = 2 * time.Minute
	// grace is after how much silence a node turns Unknown.
	grace = 40 * time.Second
	never = time.Duration(-1)
)

// machine is one instance with its node and its object.
type machine struct {
	serial int
	group  *Group
	// first is its place among the machines of its set that were there at the
	// beginning, from 0; -1: it was made later.
	first   int
	created time.Duration
	boot    time.Duration
	doomed  bool

	linked, gone bool
	// ready is the status of the node's condition, since when it changed last;
	// quiet is since when its kubelet has not been heard of, never: it is.
	ready        string
	since, quiet time.Duration

	// deleted is when it was asked to go.
	deleted time.Duration
}

// updated is when the status of the machine's object last changed.
func (m *machine) updated() time.Duration { return m.created + provisioned }

func (m *machine) turn(now time.Duration, status string) {
	if m.ready != status {
		m.ready, m.since = status, now
	}
}

// world is a fleet under one rule.
type world struct {
	outage   *Outage
	now      time.Duration
	born     int
	machines []*machine
	// removed are those that a rule deleted, gone or not.
	removed []*machine
	blind   bool
}

func newWorld(o *Outage) *world {
	w := &world{outage: o}
	for i := range o.Fleet {
		g := &o.Fleet[i]
		if g.From.Duration > 0 {
			continue
		}
		for n := range g.Machines {
			m := w.make(g)
			m.first, m.linked, m.created, m.boot = n, true, -24*time.Hour, 0
			m.ready, m.since = "True", m.created
		}
	}
	return w
}

func (w *world) make(g *Group) *machine {
	m := &machine{serial: w.born, group: g, first: -1, created: w.now, boot: w.outage.Boot.Duration, deleted: never, quiet: never}
	m.doomed = w.under(Doomed, m) != nil
	if slow := w.under(Slow, m); slow != nil {
		m.boot = slow.Boot.Duration
	}
	w.born++
	w.machines = append(w.machines, m)
	return m
}

// step lets a tick pass.
func (w *world) step() {
	w.now += tick
	w.blind = slices.ContainsFunc(w.outage.Troubles, func(t Trouble) bool { return t.Kind == Blind && t.on(w.now, 0) })
	w.machines = slices.DeleteFunc(w.machines, func(m *machine) bool { return m.deleted != never && w.now-m.deleted >= leaving })
	for i := range w.outage.Fleet {
		g := &w.outage.Fleet[i]
		for g.From.Duration <= w.now && w.staying(g) < g.Machines {
			w.make(g)
		}
	}
	for _, m := range w.machines {
		w.live(m)
	}
}

// remove asks a machine to go. Asking again changes nothing.
func (w *world) remove(m *machine) {
	if m.deleted == never {
		m.deleted = w.now
		w.removed = append(w.removed, m)
	}
}

// staying counts the machines of a set that are not being deleted: the set creates another as soon as one is.
func (w *world) staying(g *Group) (n int) {
	for _, m := range w.machines {
		if m.group == g && m.deleted == never {
			n++
		}
	}
	return n
}

// live is one tick in the life of a machine.
func (w *world) live(m *machine) {
	switch {
	case m.gone:
	case !m.linked:
		if !m.doomed && w.now-m.created >= m.boot && w.under(Barred, m) == nil && w.under(Silent, m) == nil {
			m.linked, m.ready, m.since = true, "True", w.now
		}
	case w.under(Gone, m) != nil:
		m.gone = true
	case w.under(Silent, m) != nil:
		if m.quiet == never {
			m.quiet = w.now
		}
		if w.now-m.quiet >= grace {
			m.turn(w.now, "Unknown")
		}
	case m.quiet != never && w.underAt(w.now-echo(m), Silent, m) != nil:
		// The next heartbeat is not due yet.
	case w.under(NotReady, m) != nil:
		m.quiet = never
		m.turn(w.now, "False")
	default:
		m.quiet = never
		m.turn(w.now, "True")
	}
}

// echo is how long after the end of a silence a kubelet is heard of again: 10
// to 40 s.
func echo(m *machine) time.Duration { return time.Duration(1+m.serial%4) * 10 * time.Second }

// under is a trouble of that kind that affects m; nil if none does.
func (w *world) under(k Kind, m *machine) *Trouble { return w.underAt(w.now, k, m) }

func (w *world) underAt(at time.Duration, k Kind, m *machine) *Trouble {
	for i := range w.outage.Troubles {
		t := &w.outage.Troubles[i]
		if t.Kind == k && t.hits(m) && t.on(at, m.serial) {
			return t
		}
	}
	return nil
}

// hits reports whether m is one of those that the trouble is about.
func (t *Trouble) hits(m *machine) bool {
	for _, c := range []struct{ want, have string }{
		{t.Set, m.group.Set}, {t.Zone, m.group.Zone}, {t.Rack, m.group.Rack}, {t.Template, m.group.Template},
	} {
		if c.want != "" && c.want != c.have {
			return false
		}
	}
	if t.First > 0 && (m.first < 0 || m.first >= t.First) {
		return false
	}
	return t.Every == 0 || m.serial%t.Every == 0
}

// age is for how long the trouble has been about the so-manieth machine;
// negative: it is not.
func (t *Trouble) age(now time.Duration, serial int) time.Duration {
	if t.For.Duration > 0 && now >= t.At.Duration+t.For.Duration {
		return never
	}
	return now - t.At.Duration - time.Duration(serial)*t.Stagger.Duration
}

// on reports whether the machine is down by it.
func (t *Trouble) on(now time.Duration, serial int) bool {
	age, period := t.age(now, serial), t.Down.Duration+t.Up.Duration
	return age >= 0 && (period == 0 || age%period < t.Down.Duration)
}

// lost reports whether m would not have come back by itself, and for good.
func (w *world) lost(m *machine) bool {
	for i := range w.outage.Troubles {
		t := &w.outage.Troubles[i]
		if (t.Kind == Silent || t.Kind == NotReady || t.Kind == Barred && !m.linked) && t.hits(m) && t.age(w.now, m.serial) >= 0 {
			return true
		}
	}
	return m.gone || m.doomed || !m.linked && w.now-m.created < m.boot
}

// missing counts the machines that are wanted and do not work.
func (w *world) missing() (n int) {
	for i := range w.outage.Fleet {
		if g := &w.outage.Fleet[i]; g.From.Duration <= w.now {
			n += g.Machines
		}
	}
	for _, m := range w.machines {
		if m.deleted == never && m.linked && !m.gone && m.ready == "True" && w.under(Silent, m) == nil {
			n--
		}
	}
	return n
}
