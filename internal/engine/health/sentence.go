package health

import (
	"fmt"
	"strings"
)

// sentence is the decision with its counts, for users: "11 of 30 machines are unhealthy, and maxUnhealthy
// allows 12 (40%); 10 of 10 machines of zone a are sick; 1 remediated within the hour, of at most 6; now: 1
// remediated, 10 left alone".
func (r *round) sentence() string {
	p, c := &r.plan, &r.w.Check
	parts := []string{share(r.unwell(), p.Expected+p.Missing) + " unhealthy" + r.allowed()}
	if p.Missing > 0 {
		parts[0] += fmt.Sprintf(", counting %d deleted and not replaced yet", p.Missing)
	}
	if c.Paused {
		parts = append(parts, "the check is paused")
	}
	if p.Blind != "" {
		parts = append(parts, "nothing is remediated: "+p.Blind)
	}
	if p.Distrust.Text != "" {
		parts = append(parts, "unhealthy machines wait: "+p.Distrust.Text)
	}
	if p.Doubt != "" {
		parts = append(parts, "uncertain verdicts wait: "+p.Doubt)
	}
	if c.Breaker.Mode != Off {
		parts = append(parts, r.forecast()...)
	}
	if len(p.Cases) > 0 {
		parts = append(parts, "now: "+tally(p.Cases))
	}
	return strings.Join(parts, "; ")
}

// share returns "1 of 3 machines is" or "2 of 3 machines are".
func share(n, of int) string {
	noun, verb := "machines", "are"
	if of == 1 {
		noun = "machine"
	}
	if n == 1 || of == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %d %s %s", n, of, noun, verb)
}

// allowed returns how many machines may be unhealthy; empty if the check has no limit.
func (r *round) allowed() string {
	switch m := r.w.Check.MaxUnhealthy; {
	case !m.set:
		return ""
	case m.percent:
		return fmt.Sprintf(", and maxUnhealthy allows %d (%s)", r.plan.Max, m)
	}
	return fmt.Sprintf(", and maxUnhealthy allows %d", r.plan.Max)
}

func (r *round) forecast() (out []string) {
	for _, s := range r.memory.Storms {
		if s.Over.IsZero() {
			out = append(out, fmt.Sprintf("%d of %d machines of %s are sick", s.Sick, s.Total, s.Group))
		} else {
			out = append(out, fmt.Sprintf("%s is left alone until %s, after a storm", s.Group, stamp(s.Over.Add(r.w.Check.Breaker.Cooldown))))
		}
	}
	if len(out) > 0 && r.w.Check.Breaker.Mode == Report {
		out[len(out)-1] += ", which the breaker only reports"
	}
	if r.begun > 0 {
		out = append(out, fmt.Sprintf("%d remediated within the hour, of at most %d", r.begun, r.rate))
	}
	return out
}

// tally counts the actions: "1 remediated, 9 left alone; 2 of the remediated would have been left alone if
// the breaker were enforcing".
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
	out := fmt.Sprintf("%d remediated, %d left alone", done, left)
	if overruled > 0 {
		out += fmt.Sprintf("; %d of the remediated would have been left alone if the breaker were enforcing", overruled)
	}
	return out
}
