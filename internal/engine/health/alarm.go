package health

import (
	"fmt"
	"time"
)

// Alarm is what a check says to those who make machines of a template: these
// fall ill together.
type Alarm struct {
	// Storm is that of the template, as it was when it was last remembered.
	Storm
	// Enforced says that the check leaves its machines alone; else it only
	// reports.
	Enforced bool
	// Until is when the cooldown ends of a storm that is over; zero while it is
	// under way.
	Until time.Time
}

// Alarms are those that c gives by what it remembers, one for a template. One
// that nobody looks after any more, because the check is paused or its breaker
// is off, is none, and a storm that was only reported is over when it is over.
func (c *Check) Alarms(m Memory) (out []Alarm) {
	if c.Paused || c.Breaker.Mode == Off {
		return nil
	}
	for _, s := range m.Storms {
		a := Alarm{Storm: s, Enforced: c.Breaker.Mode == Enforce}
		if !s.Over.IsZero() {
			a.Until = s.Over.Add(c.Breaker.Cooldown)
		}
		if s.Kind == Template && (a.Enforced || a.Until.IsZero()) {
			out = append(out, a)
		}
	}
	return out
}

// Stands reports whether a is still given at now.
func (a Alarm) Stands(now time.Time) bool { return a.Until.IsZero() || now.Before(a.Until) }

// Same reports whether two alarms mean the same, whatever they count.
func (a Alarm) Same(o Alarm) bool {
	return a.Group == o.Group && a.Enforced == o.Enforced && a.Until.Equal(o.Until)
}

// String tells the alarm with its arithmetic.
func (a Alarm) String() string {
	switch {
	case !a.Until.IsZero():
		return a.spared(a.Until)
	case a.Total == 0:
		return fmt.Sprintf("%s is in a storm", a.Group)
	}
	return fmt.Sprintf("%d of %d machines of %s fell ill", a.Sick, a.Total, a.Group)
}
