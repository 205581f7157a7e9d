package health

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// Look returns how well nodes can be observed with the connection s. For a while after the connection begins
// or is restored, facts about nodes may be out of date, and nodes may be silent only because their reports
// did not arrive: see [Connectivity].Since.
func Look(s connectivity.State, now time.Time) Connectivity {
	out := Connectivity{Blind: s.Frozen(now), Again: now.Add(s.Again())}
	switch left := s.SettlesIn(now); {
	case out.Blind != "":
	case !s.Connected():
		out.Blind = "the latest probe of the clusters failed"
	case left > 0:
		out.Since = s.Since()
		if settled := now.Add(left); settled.After(out.Again) {
			out.Again = settled
		}
	}
	return out
}

// surer reports whether v is more certain than o after a recent reconnection: first announced problems, then
// those that began last.
func (v Verdict) surer(o Verdict) bool {
	if o.State == "" || v.Announced != o.Announced {
		return o.State == "" || v.Announced
	}
	return v.Began.After(o.Began)
}

// doubt returns why a verdict has to wait until the connection has settled; empty if it does not have to.
// These do not wait:
//
//   - a problem that the node announces. It has no timeout, so watched time does not matter, and an observer that was connected would have acted
//     before;
//   - a problem that began, by its record, after the reconnection. But only if it is the only one: if more machines are sick, the cause may be the
//     previous outage, whose effects on nodes last beyond the reconnection.
func (r *round) doubt(b *Judged) string {
	since, v := r.connectivity.Since, &b.Verdict
	if since.IsZero() || v.Announced {
		return ""
	}
	if v.Began.After(since) && !v.Began.After(r.now) && r.suspects() == 1 {
		return ""
	}
	return fmt.Sprintf("the clusters have been connected only since %s, so this may be out of date", stamp(since))
}

// suspects counts the machines that are unwell by observation.
func (r *round) suspects() (n int) {
	for _, b := range r.ill {
		if v := &b.Verdict; !v.Announced && (v.State == Unhealthy || v.State == Suspect) {
			n++
		}
	}
	return n
}
