package health

import (
	"fmt"
	"time"
)

// Alarm is what a check reports to the controllers that create machines from a template: machines of this
// template become unhealthy together.
type Alarm struct {
	// Storm is the storm of the template, as last remembered.
	Storm
	// Enforced says that the check leaves its machines alone; otherwise it only reports.
	Enforced bool
	// Until is when the cooldown of a past storm ends; zero during the storm.
	Until time.Time
}

// Alarms returns the alarms of c from its memory, one for each template. There is no alarm if the check is
// paused or its breaker is off. An alarm about a storm that was only reported ends with the storm.
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

// Stands reports whether a still holds at now.
func (a Alarm) Stands(now time.Time) bool { return a.Until.IsZero() || now.Before(a.Until) }

// Same reports whether two alarms are equal except for their counts.
func (a Alarm) Same(o Alarm) bool {
	return a.Group == o.Group && a.Enforced == o.Enforced && a.Until.Equal(o.Until)
}

// String returns the alarm with its counts.
func (a Alarm) String() string {
	switch {
	case !a.Until.IsZero():
		return a.spared(a.Until)
	case a.Total == 0:
		return fmt.Sprintf("%s is in a storm", a.Group)
	}
	return fmt.Sprintf("%d of %d machines of %s became unhealthy", a.Sick, a.Total, a.Group)
}
