package health

import (
	"fmt"
	"strings"
)

// sentence is the verdict with its arithmetic, for people: "11 of 30 machines
// are unhealthy, 12 may be (40%); 10 of 10 machines of zone a are sick; 1
// remedied within the hour, 6 may be; now: 1 remedied, 10 left".
func (r *round) sentence() string {
	p, c := &r.plan, &r.w.Check
	parts := []string{fmt.Sprintf("%d of %d machines are unhealthy, %d may be (%s)", r.unwell(), p.Expected+p.Missing, p.Max, c.MaxUnhealthy)}
	if p.Missing > 0 {
		parts[0] += fmt.Sprintf(", counting %d that are gone and not replaced yet", p.Missing)
	}
	if c.Paused {
		parts = append(parts, "the check is paused")
	}
	if p.Blind != "" {
		parts = append(parts, "nothing is remedied: "+p.Blind)
	}
	if p.Distrust.Text != "" {
		parts = append(parts, "unhealthy machines wait: "+p.Distrust.Text)
	}
	if p.Doubt != "" {
		parts = append(parts, "what is not certain waits: "+p.Doubt)
	}
	if c.Breaker.Mode != Off {
		parts = append(parts, r.forecast()...)
	}
	if len(p.Cases) > 0 {
		parts = append(parts, "now: "+tally(p.Cases))
	}
	return strings.Join(parts, "; ")
}

func (r *round) forecast() (out []string) {
	for _, s := range r.memory.Storms {
		if s.Over.IsZero() {
			out = append(out, fmt.Sprintf("%d of %d machines of %s are sick", s.Sick, s.Total, s.Group))
		} else {
			out = append(out, fmt.Sprintf("%s is given until %s after a storm", s.Group, stamp(s.Over.Add(r.w.Check.Breaker.Cooldown))))
		}
	}
	if len(out) > 0 && r.w.Check.Breaker.Mode == Report {
		out[len(out)-1] += ", which the breaker only reports"
	}
	if r.begun > 0 {
		out = append(out, fmt.Sprintf("%d remedied within the hour, %d may be", r.begun, r.rate))
	}
	return out
}

// tally counts what is done: "1 remedied, 9 left, 2 of which only because the
// breaker reports" and the like.
func tally(cases []Case) string {
	var done, left, overruled int
	for _, c := range cases {
		switch {
		case c.Act != Do:
			left++
		case c.Hold != "":
			overruled++
			done++
		default:
			done++
		}
	}
	out := fmt.Sprintf("%d remedied, %d left", done, left)
	if overruled > 0 {
		out += fmt.Sprintf("; %d of the remedied would have been left if the breaker were enforcing", overruled)
	}
	return out
}
