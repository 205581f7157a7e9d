package why

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/evidence"
	"github.com/millwright-dev/millwright/internal/replicas"
	"github.com/millwright-dev/millwright/internal/rollout"
)

// GroupFacts are what is stored about a set or a deployment.
type GroupFacts struct {
	Subject
	Created, Deleted time.Time
	// Wanted is spec.replicas; the others are counted in the status.
	Wanted, Have, Ready, Available int
	// Updated are the machines of the present template, of a deployment.
	Updated int
	// Unseen says that the controller has not seen the last change of the spec.
	Unseen bool
	// Paused says that a deployment is not rolled.
	Paused bool
	// Frozen says that no machines are made because there are far too many.
	Frozen bool
	// CanarySince is when the canary of a rollout was first available; zero when
	// no rollout waits for one. Soak is how long it has to be so, zero when a
	// person approves it; Revision is what is to be approved.
	CanarySince time.Time
	Soak        time.Duration
	Revision    int64
	// Faults are what is wrong with the object.
	Faults []replicas.Fault
	Said   []evidence.Statement
	// Members are the answers about its machines that are not in order, the
	// worst first.
	Members []Answer
	// Controller is what is to look after the object; its zero value where nobody
	// asked.
	Controller Controller
	Gaps       []string
}

// Conditions of groups, as statements name them.
const (
	progressing    = "condition Progressing"
	replicaFailure = "condition ReplicaFailure"
	frozen         = "condition Frozen"
	held           = "condition DeletionHeld"
)

// deletionHeld is why a set gives up no machine.
const deletionHeld = "DeletionHeld"

type groupCheck func(now time.Time, f *GroupFacts) *finding

// group explains a set or a deployment; what explains it best comes first.
var group = []groupCheck{
	groupInvalid,
	groupDeleting,
	groupUnseen,
	groupFrozen,
	groupHeld,
	rolloutStopped,
	canaryWaits,
	groupPaused,
	replicasFail,
	rolloutLate,
	membersUnwell,
	groupIncomplete,
}

// Group explains a set or a deployment at the time now.
func Group(now time.Time, f GroupFacts) Answer {
	found := finding{
		state: Healthy, reason: "Available", next: nothing,
		text: fmt.Sprintf("is in order: %s", f.count()),
	}
	for _, c := range group {
		if a := c(now, &f); a != nil {
			found = *a
			break
		}
	}
	return f.Controller.unattended(now, f.Subject, found).answer(f.Subject, f.Gaps)
}

// count is "2 of 3 machines are available".
func (f *GroupFacts) count() string {
	if f.Wanted == 0 && f.Have == 0 {
		return "it wants no machines, and has none"
	}
	if f.Available > f.Wanted {
		return fmt.Sprintf("%d machines are there, %d wanted", f.Have, f.Wanted)
	}
	return fmt.Sprintf("%d of %d machines are available", f.Available, f.Wanted)
}

func (f *GroupFacts) said(about string) evidence.Statement { return find(f.Said, about) }

// members are the causes that the worst machine adds.
func (f *GroupFacts) members() (out []Cause) {
	if len(f.Members) == 0 {
		return nil
	}
	m := f.Members[0]
	out = append(out, Cause{Reason: m.Reason, Message: clause(m.Sentence)})
	return append(out, m.Because...)
}

func groupInvalid(_ time.Time, f *GroupFacts) *finding {
	p := f.said(progressing)
	wrong := p.Reason == string(rollout.InvalidObject) || p.Reason == string(rollout.SelectsAll)
	if len(f.Faults) == 0 && !wrong || !f.Deleted.IsZero() {
		return nil
	}
	out := &finding{state: Failed, reason: string(rollout.InvalidObject), text: "does nothing, because it cannot be understood: " + f.count(), next: "correct what is named; nothing is done before"}
	if wrong {
		out.reason, out.chain = p.Reason, quote(p)
	}
	for _, x := range f.Faults {
		out.chain = append(out.chain, Cause{Source: x.Field, Reason: string(rollout.InvalidObject), Message: clause(x.Message)})
		out.next = "correct " + f.Faults[0].Field + "; nothing is done before"
	}
	return out
}

func groupDeleting(now time.Time, f *GroupFacts) *finding {
	if f.Deleted.IsZero() {
		return nil
	}
	out := &finding{
		state: Deleting, reason: "Deleting", chain: f.members(), next: "wait",
		text: fmt.Sprintf("has been in deletion for %s: %s left", span(now.Sub(f.Deleted)), plural(f.Have, "machine")),
	}
	if len(f.Members) > 0 && f.Members[0].State == Stuck {
		out.state, out.next = Stuck, f.Members[0].Next
	}
	return out
}

func groupUnseen(now time.Time, f *GroupFacts) *finding {
	if !f.Unseen || now.Sub(f.Created) < unseen {
		return nil
	}
	return &finding{
		state: Failed, reason: "NotSeen", text: "was changed, and its controller has not looked at it since: " + f.count(),
		next: "see that machine-controller-manager runs, leads, and serves the API " + f.API + " and the namespace " + f.Namespace,
	}
}

func groupFrozen(_ time.Time, f *GroupFacts) *finding {
	if !f.Frozen {
		return nil
	}
	s := f.said(frozen)
	return &finding{
		state: Stuck, reason: cmp.Or(s.Reason, "Frozen"), chain: quote(s), text: "is frozen, and makes no machines: " + f.count(),
		next: "find out who makes machines that are not counted; it thaws by itself when there are few enough, or at once with the annotation safety.machine.sapcloud.io/unfreeze",
	}
}

func groupHeld(_ time.Time, f *GroupFacts) *finding {
	s := f.said(held)
	if s.Message == "" {
		s = f.said(replicaFailure)
		if s.Reason != deletionHeld {
			return nil
		}
	}
	return &finding{
		state: Waiting, reason: deletionHeld, chain: quote(s), text: "gives up no machine, because more would go at once than was allowed: " + f.count(),
		next: "if so many are to go, approve their number with the annotation millwright.dev/approve-mass-deletion; else correct spec.replicas",
	}
}

func rolloutStopped(_ time.Time, f *GroupFacts) *finding {
	s := f.said(progressing)
	if s.Reason != string(rollout.Stopped) {
		return nil
	}
	return &finding{
		state: Failed, reason: s.Reason, chain: append(quote(s), f.members()...), text: "has stopped its rollout: " + f.rolled(),
		next: "mend the template, or roll back; the rollout goes on with another template, or after a pause",
	}
}

// rolled is "3 of 10 machines are updated".
func (f *GroupFacts) rolled() string {
	return fmt.Sprintf("%d of %d machines are updated", f.Updated, f.Wanted)
}

func canaryWaits(now time.Time, f *GroupFacts) *finding {
	if f.CanarySince.IsZero() || f.Paused {
		return nil
	}
	out := &finding{
		state: Waiting, reason: "CanaryWaiting", chain: quote(f.said(progressing)),
		text: fmt.Sprintf("waits at the canary of its rollout%s: %s", lasting(now, f.CanarySince), f.rolled()),
		next: fmt.Sprintf("look at the new machines, and approve them with the annotation %s: %q", rollout.ApproveKey, fmt.Sprint(f.Revision)),
	}
	if left := f.CanarySince.Add(f.Soak).Sub(now); f.Soak > 0 {
		out.next = "wait: it goes on in " + span(left) + " if the canary stays available, or at once with the annotation " + rollout.ApproveKey
	}
	return out
}

func groupPaused(_ time.Time, f *GroupFacts) *finding {
	if !f.Paused || f.Updated == f.Wanted && f.Available == f.Wanted {
		return nil
	}
	return &finding{
		state: Waiting, reason: string(rollout.IsPaused), chain: f.members(), text: "is paused: " + f.rolled() + ", " + fmt.Sprintf("%d are available", f.Available),
		next: "set spec.paused to false to go on; a paused deployment is scaled, and not rolled",
	}
}

func replicasFail(_ time.Time, f *GroupFacts) *finding {
	s := f.said(replicaFailure)
	if s.Message == "" {
		if s = f.said(ErrorStatement); s.Message == "" {
			return nil
		}
	}
	return &finding{
		state: Degraded, reason: cmp.Or(s.Reason, "ReplicaFailure"), chain: quote(s), text: "cannot make or remove its machines: " + f.count(),
		next: "mend what is named; it is tried again by itself",
	}
}

func rolloutLate(_ time.Time, f *GroupFacts) *finding {
	s := f.said(progressing)
	if !slices.Contains([]string{string(rollout.DeadlineExceeded), string(rollout.SetCreateError)}, s.Reason) {
		return nil
	}
	out := &finding{
		state: Degraded, reason: s.Reason, chain: append(quote(s), f.members()...), text: "does not get on with its rollout: " + f.rolled(),
		next: "mend what is named; it goes on by itself",
	}
	if len(f.Members) > 0 {
		out.next = f.Members[0].Next
	}
	return out
}

func membersUnwell(_ time.Time, f *GroupFacts) *finding {
	if len(f.Members) == 0 || f.Available >= f.Wanted && f.Have <= f.Wanted {
		return nil
	}
	m := f.Members[0]
	out := &finding{state: Degraded, reason: m.Reason, chain: f.members(), text: "is not complete: " + f.count(), next: m.Next}
	if m.State == Progressing || m.State == Deleting {
		out.state = Progressing
	}
	if n := len(f.Members); n > 1 {
		out.text += fmt.Sprintf(", %d are not in order", n)
	}
	return out
}

func groupIncomplete(_ time.Time, f *GroupFacts) *finding {
	s := f.said(progressing)
	rolling := f.Updated < f.Wanted && s.Message != ""
	if f.Available >= f.Wanted && f.Have <= f.Wanted && !rolling {
		return nil
	}
	out := &finding{state: Progressing, reason: cmp.Or(s.Reason, "MachinesUnavailable"), text: "is not complete: " + f.count(), chain: quote(s), next: "wait"}
	if rolling {
		out.text = "is being rolled: " + f.rolled() + fmt.Sprintf(", %d are available", f.Available)
	} else if f.Have > f.Wanted {
		out.text += fmt.Sprintf(", there are %d", f.Have)
	}
	return out
}
