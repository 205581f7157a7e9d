package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Rollout is what the controller of a deployment looks at.
type Rollout struct {
	Deployment rollout.Deployment
	Sets       []rollout.Set
	Policy     rollout.Policy
}

// asked is a set or a deployment that is asked about, with what its controller would
// do.
type asked struct {
	GroupFacts
	now time.Time
	// plan is that of a deployment's controller; nil where nobody can ask.
	plan *rollout.Plan
	// canary is the set at which the rollout waits for its canary, and for nothing
	// else; nil where it does not.
	canary *rollout.SetWant
}

// ask asks the controller of a deployment what it would do about what is stored. Its
// machines are counted as they are now, which the status may not show yet.
func ask(now time.Time, f GroupFacts) *asked {
	out := &asked{GroupFacts: f, now: now}
	if f.Rollout == nil {
		return out
	}
	p := f.Rollout.decide(now)
	out.plan = &p
	if st := p.Status; !st.Faulty {
		out.Have, out.Ready, out.Available, out.Updated = st.Replicas, st.Ready, st.Available, st.Updated
	}
	out.canary = f.Rollout.canary(now, p)
	return out
}

func (r Rollout) decide(now time.Time) rollout.Plan {
	return rollout.Decide(now, r.Deployment, r.Sets, r.Policy)
}

// canary is the present set where the rollout waits at it: the plan would be another one
// if somebody had approved it.
func (r Rollout) canary(now time.Time, p rollout.Plan) *rollout.SetWant {
	i := slices.IndexFunc(p.Sets(), func(w rollout.SetWant) bool { return w.Current && !w.Notes.CanarySince.IsZero() })
	if i < 0 {
		return nil
	}
	w := p.Sets()[i]
	r.Deployment.Guard.Approved = w.Revision
	if p.Status.Waiting == r.decide(now).Status.Waiting {
		return nil
	}
	return &w
}

// progress is how the rollout goes: as the controller would say now, else as it said
// last. What was recorded with the same reason keeps its place; that a set could not be
// made only whoever tried knows.
func (f *asked) progress() postmortem.Statement {
	s := f.said(progressing)
	if f.plan == nil {
		return s
	}
	p := f.plan.Status.Progress
	switch {
	case p.Status == "", p.Reason == rollout.Stopped && s.Reason == string(p.Reason), f.plan.Create() != nil && s.Reason == string(rollout.SetCreateError):
		return s
	case s.Reason != string(p.Reason) || s.Message != p.Message:
		s = postmortem.Statement{Status: string(p.Status), Reason: string(p.Reason), Message: p.Message}
		if p.Since.Before(f.now) {
			s.Since = p.Since
		}
	}
	return s
}

// failure is what keeps sets from making or removing machines.
func (f *asked) failure() postmortem.Statement {
	s := f.said(ReplicaFailure)
	if s.Message == "" {
		s = f.said(RefusedEvent)
	}
	if s.Message == "" {
		s = f.said(postmortem.ErrorStatement)
	}
	if f.plan == nil {
		return s
	}
	x := f.plan.Status.Failure
	if x == nil {
		return postmortem.Statement{}
	}
	if s.Reason != x.Reason || s.Message != x.Message {
		s = postmortem.Statement{Reason: x.Reason, Message: x.Message}
	}
	if x.Withheld {
		s.Reason = deletionHeld
	}
	return s
}

func rolloutStopped(_ time.Time, f *asked) *finding {
	s := f.progress()
	if s.Reason != string(rollout.Stopped) {
		return nil
	}
	return &finding{key: s.Reason, chain: append(quote(s), f.members()...)}
}

func canaryWaits(now time.Time, f *asked) *finding {
	if f.canary == nil || f.Paused {
		return nil
	}
	since, soak := f.canary.Notes.CanarySince, f.Rollout.Deployment.Guard.Soak
	out := &finding{
		key: "CanaryWaiting", chain: f.waiting(),
		fill: []string{"canary", lasting(now, since), "revision", fmt.Sprint(f.canary.Revision), "left", span(since.Add(soak).Sub(now))},
	}
	if soak > 0 {
		out.key = variant(out.key, "Soak")
	}
	return out
}

func rolloutLate(_ time.Time, f *asked) *finding {
	s := f.progress()
	if !slices.Contains([]string{string(rollout.DeadlineExceeded), string(rollout.SetCreateError)}, s.Reason) {
		return nil
	}
	out := &finding{key: string(rollout.DeadlineExceeded), reason: s.Reason, chain: append(quote(s), f.members()...)}
	if len(f.Members) > 0 {
		out.key = variant(rollout.DeadlineExceeded, "Member")
	}
	return out
}

// personChooses is about rollouts in which nothing happens before a person has chosen
// machines.
func personChooses(_ time.Time, f *asked) *finding {
	if f.plan == nil || f.Paused || f.plan.Status.Waiting == "" || !f.rolling() || f.Available < f.Wanted {
		return nil
	}
	switch d := f.Rollout.Deployment; {
	case d.Strategy == rollout.OnDelete:
		return &finding{key: rolledByHand, chain: f.waiting()}
	case d.Strategy == rollout.InPlace && d.ByHand && !f.underway():
		return &finding{key: variant(rolledByHand, "InPlace"), chain: f.waiting()}
	}
	return nil
}

const rolledByHand = "RolledByHand"

// underway reports whether a machine is being updated in place.
func (f *asked) underway() bool {
	return slices.ContainsFunc(f.Rollout.Sets, func(s rollout.Set) bool {
		return slices.ContainsFunc(s.Machines, func(m rollout.Machine) bool { return m.Update.State().Underway() })
	})
}

// rolling reports whether machines of an old template are left, or those of the present
// one were never all available.
func (f *asked) rolling() bool {
	s := f.progress()
	if f.plan == nil {
		return f.Updated < f.Wanted && s.Message != ""
	}
	return !f.plan.Status.Complete && s.Reason != "" && s.Reason != string(rollout.SetAvailable)
}

// waiting is what the rollout waits for, else how it goes.
func (f *asked) waiting() []Cause {
	if f.plan == nil || f.plan.Status.Waiting == "" {
		return quote(f.progress())
	}
	return []Cause{{Reason: f.progress().Reason, Message: clause(f.plan.Status.Waiting)}}
}

func groupIncomplete(_ time.Time, f *asked) *finding {
	rolling := f.rolling()
	if f.Available >= f.Wanted && f.Have <= f.Wanted && !rolling {
		return nil
	}
	out := &finding{key: "MachinesUnavailable", reason: f.progress().Reason, chain: quote(f.progress())}
	if rolling {
		out.key, out.chain = "MachineSetUpdated", f.waiting()
	}
	return out
}
