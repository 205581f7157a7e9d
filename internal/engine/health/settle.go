package health

import (
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// Look is how far nodes can be seen by somebody who sees the clusters like s.
// For a while after sight begins, or came back, what is known of nodes may be
// what was lost sight of, and they may be silent only because nobody could hear
// them: see [Connectivity].Since.
func Look(s connectivity.State, now time.Time) Connectivity {
	out := Connectivity{Blind: s.Frozen(now), Again: now.Add(s.Again())}
	switch left := s.SettlesIn(now); {
	case out.Blind != "":
	case !s.Connected():
		out.Blind = "the last look at the clusters did not see everything"
	case left > 0:
		out.Since = s.Since()
		if settled := now.Add(left); settled.After(out.Again) {
			out.Again = settled
		}
	}
	return out
}

// surer reports whether v is less in doubt than o for those who have not seen
// for long: what was announced, then what began last.
func (v Verdict) surer(o Verdict) bool {
	if o.State == "" || v.Announced != o.Announced {
		return o.State == "" || v.Announced
	}
	return v.Began.After(o.Began)
}

// doubt is why a verdict has to wait until sight has settled; empty when it has
// not. These do not wait:
//
//   - what a node announces. No time has to pass, so that nothing depends on
//     what was watched, and who had looked before would have acted before;
//   - what is written to have begun since we see. But only the one: where more
//     machines are sick, they may be so by the outage that we come from, which
//     is still to be felt on nodes when we see again.
func (r *round) doubt(b *Judged) string {
	since, v := r.connectivity.Since, &b.Verdict
	if since.IsZero() || v.Announced {
		return ""
	}
	if v.Began.After(since) && !v.Began.After(r.now) && r.suspects() == 1 {
		return ""
	}
	return fmt.Sprintf("the clusters are seen only since %s, so that this may be out of date", stamp(since))
}

// suspects is how many machines are not well by what was found out by watching.
func (r *round) suspects() (n int) {
	for _, b := range r.ill {
		if v := &b.Verdict; !v.Announced && (v.State == Unhealthy || v.State == Suspect) {
			n++
		}
	}
	return n
}
