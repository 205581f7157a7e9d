package cloud

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Fate is what becomes of an instance that is accepted and never starts by itself.
type Fate struct {
	// Why is the [provider.Instance.Fault].
	Why *provider.Error
	// After is how long after it was accepted it is given up, Mends how long after that
	// the infrastructure goes on with it; zero: never.
	After, Mends time.Duration
	// Vanishes: nothing of it stays but its record.
	Vanishes bool
}

// end is when an instance is given up, and for how long; the zero value: never.
type end struct {
	why      *provider.Error
	from, to time.Time
	vanishes bool
}

// seal decides what becomes of an instance that was just accepted.
func (c *Cloud) seal(m *Machine) {
	if c.Fate == nil {
		return
	}
	f := c.Fate(m)
	if f == nil {
		return
	}
	m.end = end{why: f.Why, from: c.Now().Add(f.After), vanishes: f.Vanishes}
	switch {
	case f.Vanishes:
		m.gone, m.Died = m.end.from, true
	case f.Mends > 0:
		m.end.to = m.end.from.Add(f.Mends)
		m.booted = m.end.to.Add(c.upTo(c.Boot))
	}
}

// Fault is why the instance is given up at now, since when, and whether that is for good;
// nil: it is not.
func (m *Machine) Fault(now time.Time) (why *provider.Error, since time.Time, final bool) {
	e := m.end
	over := !e.to.IsZero() && !now.Before(e.to)
	if e.why == nil || now.Before(e.from) || over {
		return nil, time.Time{}, false
	}
	return e.why, e.from, e.to.IsZero()
}

// hopeful reports whether it starts some time.
func (m *Machine) hopeful() bool { return m.end.why == nil || !m.end.to.IsZero() }

// leaves reports whether it was sent away, or is gone. One that is to vanish by itself was
// not sent away before that.
func (m *Machine) leaves(now time.Time) bool {
	return now.Before(m.back) || !m.gone.IsZero() && (!m.end.vanishes || !now.Before(m.end.from))
}

// sent notes that it was sent away, and is gone by then.
func (m *Machine) sent(now, gone time.Time) {
	if now.Before(m.end.from) {
		m.end, m.Died = end{}, false
	}
	m.gone = gone
}
