package orphan

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// plan applies the limits to the quarantined instances, the longest suspected first, and remembers all of
// them. A suspect without a verdict does not exist any more, unless it is to be carried over.
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

// refusal returns the refusal of the mass-deletion guard. Instances of other creators do not count, because
// they are not removed.
func (s *sweep) refusal() string {
	doomed := 0
	for _, v := range s.verdicts {
		if v.Fate != Keep && v.listed && v.bar == "" {
			doomed++
		}
	}
	return s.policy.Limit.Refuse(len(s.listed.all), doomed, s.policy.Approved, ApproveAnnotation)
}

// looks is the minimum number of listings in a row with a suspect: a period may be as long as the grace
// period, and two listings during one problem are too few.
const looks = 3

// remaining returns how long a suspect still has to be watched.
func (s *sweep) remaining(v *Verdict) time.Duration {
	return max(s.policy.Grace-s.now.Sub(v.Since), time.Duration(looks-v.seen)*s.policy.Period)
}

// sentence decides about an instance without a machine. A removal that has begun continues regardless of the
// limits, because half an instance is of no use. An instance that a user has named is removed after it was
// watched for long enough.
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
		v.Message += fmt.Sprintf("; it is removed unless a machine appears within %s", s.remaining(v).Round(time.Second))
	case p.ReportOnly:
		stop(ReasonReportOnly, "it is only reported")
	case len(v.Left) > 0 && v.Ref.UID == "":
		stop(ReasonUnremoved, "it does not say for which machine it was created")
	case len(s.census.machines) < p.MinMachines && p.Approved == 0 && !named:
		stop(ReasonNoMachines, "%d machines are known, %d are needed", len(s.census.machines), p.MinMachines)
	case refusal != "" && !named:
		stop(ReasonMass, "%s", refusal)
	case begun >= p.PerHour:
		stop(ReasonCap, "%d were removed within the hour, which is the limit", begun)
	default:
		v.Fate = Remove
	}
}
