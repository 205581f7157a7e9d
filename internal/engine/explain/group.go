package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// GroupFacts are the stored facts about a set or a deployment.
type GroupFacts struct {
	Subject
	Created, Deleted time.Time
	// Wanted is spec.replicas; the others are from the status.
	Wanted, Have, Ready, Available int
	// Updated counts the machines of a deployment's current template.
	Updated int
	// Unseen says that the controller has not seen the last change of the spec.
	Unseen bool
	// Paused says that the rollout of a deployment is paused.
	Paused bool
	// Frozen says that no machines are created because far too many exist.
	Frozen bool
	// Faults are the errors in the object.
	Faults []lifecycle.Fault
	Said   []postmortem.Statement
	// Decision is the decision of a set's controller on these facts; the zero value for a deployment.
	Decision replicas.Decision
	// Rollout is the input of the deployment's controller; nil for a set, and if not all of it could be read.
	Rollout *Rollout
	// Rivals are the other sets that select the same machines ("MachineSet mill").
	Rivals []string
	// Members are the answers about its machines that are not in order, the worst first.
	Members []Answer
	// Controller is the controller that manages the object; the zero value if it was not looked up.
	Controller Controller
	Gaps       []string
}

// Conditions of groups, as statements name them.
const (
	progressing = "condition Progressing"
	frozen      = "condition Frozen"
	held        = "condition DeletionHeld"
)

// The statements of sets, and of events about them, if their machines cannot be created.
const (
	ReplicaFailure = "condition ReplicaFailure"
	RefusedEvent   = "event of the set"
)

// deletionHeld is the reason of a set that deletes no machine.
const deletionHeld = "DeletionHeld"

type groupCheck func(now time.Time, f *asked) *finding

// group has the checks that explain a set or a deployment; the best explanation comes first.
var group = []groupCheck{
	groupInvalid,
	groupDeleting,
	groupUnseen,
	groupFrozen,
	groupHeld,
	growthHeld,
	setWaits,
	rolloutStopped,
	canaryWaits,
	groupPaused,
	replicasFail,
	rolloutLate,
	membersUnwell,
	personChooses,
	groupIncomplete,
	groupShared,
}

// Group explains a set or a deployment at the time now by the decision that its controller would take on the
// stored facts.
func Group(now time.Time, facts GroupFacts) Answer {
	f, found := ask(now, facts), finding{key: "Available"}
	for _, c := range group {
		if a := c(now, f); a != nil {
			found = *a
			break
		}
	}
	found = found.with("count", f.count(), "rolled", share(f.Updated, f.Wanted, "machine")+" updated",
		"available", fmt.Sprint(f.Available), "machines", plural(f.Have, "machine"), "deleted", span(now.Sub(f.Deleted)), "controller", setController)
	if len(f.Members) > 0 {
		found = found.with("member next", f.Members[0].Next)
	}
	a := f.Controller.unattended(now, f.Subject, found)
	a.Gaps = f.Gaps
	return a
}

// count returns "2 of 3 machines are available".
func (f *GroupFacts) count() string {
	if f.Wanted == 0 && f.Have == 0 {
		return "no machines are wanted, and none exist"
	}
	if f.Available > f.Wanted {
		return fmt.Sprintf("%d machines exist, %d are wanted", f.Have, f.Wanted)
	}
	if f.Have > f.Wanted {
		return fmt.Sprintf("%s available, %d exist", share(f.Available, f.Wanted, "machine"), f.Have)
	}
	return share(f.Available, f.Wanted, "machine") + " available"
}

func (f *GroupFacts) said(about string) postmortem.Statement { return find(f.Said, about) }

// members returns the causes from machines that are not in order: the worst machine with its causes, and for
// each further reason one machine.
func (f *GroupFacts) members() (out []Cause) {
	told := map[string]bool{}
	for i, m := range f.Members {
		if told[m.Reason] {
			continue
		}
		told[m.Reason] = true
		if i == 0 {
			out = append(append(out, Cause{Reason: m.Reason, Message: clause(m.Sentence)}), m.Because...)
			continue
		}
		out = append(out, m.line())
	}
	return out
}

// bad reports whether the worst machine does not continue by itself.
func (f *GroupFacts) bad() bool {
	return len(f.Members) > 0 && slices.Contains([]State{Failed, Stuck, Degraded, Waiting}, f.Members[0].State)
}

func groupInvalid(_ time.Time, f *asked) *finding {
	p := f.progress()
	wrong := p.Reason == string(rollout.InvalidObject) || p.Reason == string(rollout.SelectsAll)
	if len(f.Faults) == 0 && !wrong || !f.Deleted.IsZero() {
		return nil
	}
	out := &finding{key: string(rollout.InvalidObject), fill: []string{"field", "the named field"}}
	if wrong {
		out.reason, out.chain = p.Reason, quote(p)
	}
	for _, x := range f.Faults {
		out.chain = append(out.chain, Cause{Source: x.Field, Reason: string(rollout.InvalidObject), Message: clause(x.Message)})
		out.fill = []string{"field", f.Faults[0].Field}
	}
	return out
}

func groupDeleting(_ time.Time, f *asked) *finding {
	if f.Deleted.IsZero() {
		return nil
	}
	out := &finding{key: variant("Deleting", "Set"), chain: f.members()}
	if len(f.Members) > 0 && f.Members[0].State == Stuck {
		out.key = variant("Deleting", "SetStuck")
	}
	return out
}

func groupUnseen(now time.Time, f *asked) *finding {
	if !f.Unseen || now.Sub(f.Created) < unseen {
		return nil
	}
	return &finding{key: variant(ReasonNotSeen, "Set")}
}

func groupFrozen(_ time.Time, f *asked) *finding {
	if !f.Frozen {
		return nil
	}
	s := f.said(frozen)
	return &finding{key: "Frozen", reason: s.Reason, chain: quote(s)}
}

func groupHeld(_ time.Time, f *asked) *finding {
	s := f.said(held)
	if s.Message == "" {
		s = f.failure()
		if s.Reason != deletionHeld {
			return nil
		}
	}
	return &finding{key: deletionHeld, chain: quote(s)}
}

// growthHeld explains a set or deployment that creates no more machines, because too many would be added at
// once.
func growthHeld(_ time.Time, f *asked) *finding {
	s := f.failure()
	if f.Decision.Held != "" && s.Reason != limits.CreationHeld {
		s = postmortem.Statement{Reason: limits.CreationHeld, Message: f.Decision.Held}
	}
	if s.Reason != limits.CreationHeld {
		return nil
	}
	return &finding{key: limits.CreationHeld, chain: quote(s)}
}

// setWaits explains sets whose controller does nothing, or creates no machine, because a user wants that.
func setWaits(_ time.Time, f *asked) *finding {
	d := f.Decision
	switch d.Reason {
	case replicas.Paused, replicas.Held:
		return &finding{key: variant(d.Reason, "Set"), chain: []Cause{{Reason: string(d.Reason), Message: clause(d.Message)}}}
	}
	return nil
}

func groupPaused(_ time.Time, f *asked) *finding {
	if !f.Paused || f.Updated == f.Wanted && f.Available == f.Wanted {
		return nil
	}
	return &finding{key: string(rollout.IsPaused), chain: f.members()}
}

func replicasFail(_ time.Time, f *asked) *finding {
	s := f.failure()
	if s.Message == "" {
		return nil
	}
	out := &finding{key: variant("ReplicaFailure", refuser(s.Message)), reason: s.Reason, chain: quote(s)}
	out.fill = []string{"refuser", named(s.Message)}
	if f.rolling() {
		out.text = "cannot create or delete the machines of its rollout: {rolled}"
	}
	return out
}

func membersUnwell(_ time.Time, f *asked) *finding {
	complete := f.Available >= f.Wanted && f.Have <= f.Wanted
	if len(f.Members) == 0 || complete && !f.bad() {
		return nil
	}
	m := f.Members[0]
	out := &finding{key: membersKey, reason: m.Reason, chain: f.members(), fill: []string{"unwell", ""}}
	switch {
	case f.rolling():
		out.key = variant(membersKey, "Rolling")
	case f.Available >= f.Wanted:
		out.key = variant(membersKey, "Complete")
	}
	if !f.bad() {
		out.state = Progressing
	}
	if n := len(f.Members); n > 1 {
		out.fill[1] = fmt.Sprintf(", %d are not in order", n)
	}
	return out
}

const membersKey = "MembersUnwell"

func groupShared(_ time.Time, f *asked) *finding {
	if len(f.Rivals) == 0 {
		return nil
	}
	return &finding{key: "SelectorShared", fill: []string{"rivals", strings.Join(f.Rivals[:min(len(f.Rivals), mostNames)], ", ")}}
}
