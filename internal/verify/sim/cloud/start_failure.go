package cloud

import (
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// StartFailure is the failure of an accepted instance.
type StartFailure struct {
	// Why is the reason, which becomes [provider.Instance.Fault].
	Why *provider.Error
	// After is the time between acceptance and failure. Recovers is the time after which the cloud continues with the instance;
	// zero: never.
	After, Recovers time.Duration
	// Vanishes: the instance ceases to exist, and only its record stays.
	Vanishes bool
}

// end is the time of an instance's failure and of its recovery; the zero value: no failure.
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

// Fault is the reason for which the instance has failed at now, the time of the failure, and whether it is final; nil: no
// failure.
func (m *Machine) Fault(now time.Time) (why *provider.Error, since time.Time, final bool) {
	e := m.end
	over := !e.to.IsZero() && !now.Before(e.to)
	if e.why == nil || now.Before(e.from) || over {
		return nil, time.Time{}, false
	}
	return e.why, e.from, e.to.IsZero()
}

// startsEventually reports whether the instance starts at some time.
func (m *Machine) startsEventually() bool { return m.end.why == nil || !m.end.to.IsZero() }

// leaves reports whether the instance was terminated, by a client or by itself.
func (m *Machine) leaves(now time.Time) bool {
	return now.Before(m.back) || !m.gone.IsZero() && (!m.end.vanishes || !now.Before(m.end.from))
}

// sent records that a client terminates the instance, which ceases to exist at gone.
func (m *Machine) sent(now, gone time.Time) {
	if now.Before(m.end.from) {
		m.end, m.Died = end{}, false
	}
	m.gone = gone
}
