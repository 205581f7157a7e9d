package orphan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// plan applies the limits to the quarantined, the longest suspected first, and
// remembers all of them. A suspect that was not judged is gone, unless it is to
// be carried over.
func (s *sweep) plan(carry func(Suspect) bool) Plan {
	before := s.memory.Suspects
	for n := range s.verdicts {
		v := &s.verdicts[n]
		v.Since, v.seen = s.now, 1
		if old, ok := before[v.Key]; ok && v.Fate != Keep {
			v.Since, v.seen = old.Since, old.Seen+1
		}
	}
	slices.SortStableFunc(s.verdicts, func(a, b Verdict) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	p := Plan{Refusal: s.refusal(), Memory: s.memory}
	p.Memory.Suspects = s.unjudged(carry)
	begun := len(s.memory.Begun)
	for n := range s.verdicts {
		v := &s.verdicts[n]
		if v.Fate == Keep {
			continue
		}
		s.sentence(v, p.Refusal, begun)
		if v.Fate == Remove && !v.Begun {
			begun++
		}
		old := before[v.Key]
		v.News = old.Fate != v.Fate || old.Reason != v.Reason
		p.Memory.Suspects[v.Key] = Suspect{
			Since: v.Since, Seen: v.seen, Fate: v.Fate, Cause: v.Cause, Reason: v.Reason,
			Instance: v.Instance, Left: v.Left, Ref: v.Ref, Removing: v.Begun,
		}
	}
	p.Verdicts = s.verdicts
	return p
}

func (s *sweep) unjudged(carry func(Suspect) bool) map[string]Suspect {
	judged := map[string]bool{}
	for _, v := range s.verdicts {
		judged[v.Key] = true
	}
	out := map[string]Suspect{}
	for key, old := range s.memory.Suspects {
		if !judged[key] && carry(old) {
			out[key] = old
		}
	}
	return out
}

// refusal is the mass-deletion guard's. What others made is not in danger.
func (s *sweep) refusal() string {
	doomed := 0
	for _, v := range s.verdicts {
		if v.Fate != Keep && v.listed && v.bar == "" {
			doomed++
		}
	}
	return s.policy.Limit.Refuse(len(s.listed.all), doomed, s.policy.Approved, ApproveAnnotation)
}

// looks is in how many listings in a row a suspect must have been seen: a period
// may be as long as the grace, and two looks at one moment of trouble are few.
const looks = 3

// remaining is for how long a suspect is still to be watched.
func (s *sweep) remaining(v *Verdict) time.Duration {
	return max(s.policy.Grace-s.now.Sub(v.Since), time.Duration(looks-v.seen)*s.policy.Period)
}

// sentence decides about one that nobody wants. A removal that was begun goes
// on whatever the limits say: half an instance helps nobody. One that somebody
// has named goes once it was watched for long enough.
func (s *sweep) sentence(v *Verdict, refusal string, begun int) {
	p, named, ready := s.policy, s.named(v), s.readyNode(v)
	stop := func(r Reason, why string, args ...any) {
		v.Fate, v.Reason, v.Message = Quarantine, r, v.Message+"; "+fmt.Sprintf(why, args...)
	}
	v.Reason = v.Cause
	switch {
	case v.Begun:
		v.Fate = Remove
	case v.bar != "" && !named:
		stop(v.bar, "%s%s", v.barred, howTo(v))
	case ready != "" && !named:
		stop(ReasonReady, "its node %s is Ready%s, once the node is drained", ready, howTo(v))
	case s.remaining(v) > 0:
		v.Message += fmt.Sprintf("; it is removed unless one turns up within %s", s.remaining(v).Round(time.Second))
	case p.ReportOnly:
		stop(ReasonReportOnly, "it is only reported")
	case len(v.Left) > 0 && v.Ref.UID == "":
		stop(ReasonUnremoved, "it does not say for which machine it was made")
	case len(s.census.machines) < p.MinMachines && p.Approved == 0 && !named:
		stop(ReasonNoMachines, "%d machines are known, %d are needed", len(s.census.machines), p.MinMachines)
	case refusal != "" && !named:
		stop(ReasonMass, "%s", refusal)
	case begun >= p.PerHour:
		stop(ReasonCap, "%d were removed within the hour, which is as many as may be", begun)
	default:
		v.Fate = Remove
	}
}
