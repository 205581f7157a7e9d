package cloud

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// StartFailure is the failure of an accepted instance.
type StartFailure struct {
	// Why is the [provider.Instance.Fault].
	Why *provider.Error
	// After is how long after its acceptance the instance fails, Recovers how long after that the cloud continues
	// with it; zero: never.
	After, Recovers time.Duration
	// Vanishes: only its record stays.
	Vanishes bool
}

// end is when an instance fails, and for how long; the zero value: never.
type end struct {
	why      *provider.Error
	from, to time.Time
	vanishes bool
}

// decideFailure decides the failure of an accepted instance.
func (c *Cloud) decideFailure(m *Machine) {
	if c.StartFailure == nil {
		return
	}
	f := c.StartFailure(m)
	if f == nil {
		return
	}
	m.end = end{why: f.Why, from: c.Now().Add(f.After), vanishes: f.Vanishes}
	switch {
	case f.Vanishes:
		m.gone, m.Died = m.end.from, true
	case f.Recovers > 0:
		m.end.to = m.end.from.Add(f.Recovers)
		m.booted = m.end.to.Add(c.upTo(c.Boot))
	}
}

// Fault is why the instance has failed at now, since when, and whether that is final; nil: it has not failed.
func (m *Machine) Fault(now time.Time) (why *provider.Error, since time.Time, final bool) {
	e := m.end
	over := !e.to.IsZero() && !now.Before(e.to)
	if e.why == nil || now.Before(e.from) || over {
		return nil, time.Time{}, false
	}
	return e.why, e.from, e.to.IsZero()
}

// startsEventually reports whether it starts some time.
func (m *Machine) startsEventually() bool { return m.end.why == nil || !m.end.to.IsZero() }

// leaves reports whether it was terminated, by a client or by itself.
func (m *Machine) leaves(now time.Time) bool {
	return now.Before(m.back) || !m.gone.IsZero() && (!m.end.vanishes || !now.Before(m.end.from))
}

// sent records that a client terminates it, and that it ceases to exist by then.
func (m *Machine) sent(now, gone time.Time) {
	if now.Before(m.end.from) {
		m.end, m.Died = end{}, false
	}
	m.gone = gone
}
