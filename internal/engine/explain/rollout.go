package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Rollout is the input of a deployment's controller.
type Rollout struct {
	Deployment rollout.Deployment
	Sets       []rollout.Set
	Policy     rollout.Policy
}

// asked is a set or a deployment to explain, with the decision that its controller would take.
type asked struct {
	GroupFacts
	now time.Time
	// plan is that of a deployment's controller; nil if it cannot be computed.
	plan *rollout.Plan
	// canary is the set at which the rollout waits for its canary, and for nothing else; nil if it does not.
	canary *rollout.SetWant
}

// ask computes what the controller of a deployment would do on the stored facts. It counts machines as they
// are now, which the status may not show yet.
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

// canary returns the current set if the rollout waits for its approval: with the approval the plan would
// differ.
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

// progress returns the progress of the rollout: as the controller would report it now, otherwise as recorded.
// A recorded statement with the same reason is kept. Only a recorded statement can say that a set could not
// be created.
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

// failure returns why sets cannot create or delete machines.
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

// personChooses explains rollouts that wait for a user to choose machines.
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

// rolling reports whether machines of an old template are left, or those of the current one were never all
// available.
func (f *asked) rolling() bool {
	s := f.progress()
	if f.plan == nil {
		return f.Updated < f.Wanted && s.Message != ""
	}
	return !f.plan.Status.Complete && s.Reason != "" && s.Reason != string(rollout.SetAvailable)
}

// waiting returns what the rollout waits for, otherwise its progress.
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
