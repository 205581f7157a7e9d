package rollout

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// Action is one step of a plan. After a failed action, the actions that wait are skipped until the next pass.
type Action interface {
	// Waits reports whether the action is skipped after an earlier one has failed.
	Waits() bool
}

// The actions, in their order within plans.
type (
	// Finish removes the finalizer of a deployment under deletion that has no sets left.
	Finish struct{}
	// Amend writes the rollout's records in the deployment's metadata. It comes once more after the sets:
	// wishes that all sets have received are dropped before the sets can act on them, so that they are not
	// passed on again.
	Amend struct {
		// Revision is the revision to record on the deployment; 0 leaves it alone.
		Revision int64
		// Wishes are the ungranted ones; they are written if Rewish says that they differ from the
		// deployment's annotation.
		Wishes []Wish
		Rewish bool
	}
	// MarkVictims marks machines as the autoscaler's choice. It comes before any set is
	// scaled, so that the marks count.
	MarkVictims []Victim
	// CreateSet creates the set of the current template.
	CreateSet struct{ SetWant }
	// MarkNodes writes wanted marks on nodes that lack them. Marking a thousand nodes takes seconds, so the
	// new set is created before, to get its first machines meanwhile. A node that cannot be written stops
	// nothing.
	MarkNodes []NodeWant
	// HandOver hands machines over to another set. Their sets are resized afterwards.
	HandOver []Move
	// ApplySet writes the wanted state of a set. Every set that is not under deletion has one.
	ApplySet struct{ SetWant }
	// Unprotect removes the protection of machines whose set has made room for them.
	Unprotect []MachineRef
	// DeleteSets deletes sets.
	DeleteSets []SetRef
	// Report writes the status.
	Report struct{}
	// MarkNodesLate is MarkNodes for marks that can wait until the rollout has continued and the status is
	// written.
	MarkNodesLate []NodeWant
)

// Waits implements [Action].
func (Finish) Waits() bool { return true }

// Waits implements [Action].
func (RollBack) Waits() bool { return true }

// Waits implements [Action].
func (Amend) Waits() bool { return true }

// Waits implements [Action].
func (MarkVictims) Waits() bool { return true }

// Waits implements [Action].
func (CreateSet) Waits() bool { return true }

// Waits implements [Action].
func (MarkNodes) Waits() bool { return true }

// Waits implements [Action].
func (HandOver) Waits() bool { return true }

// Waits implements [Action].
func (ApplySet) Waits() bool { return true }

// Waits implements [Action].
func (Unprotect) Waits() bool { return true }

// Waits implements [Action].
func (DeleteSets) Waits() bool { return true }

// Waits implements [Action]. Results and failures are always reported.
func (Report) Waits() bool { return false }

// Waits implements [Action]. No action depends on these marks, nor they on any action.
func (MarkNodesLate) Waits() bool { return false }

// draft has the decisions of the rules so far, by kind.
type draft struct {
	Amend
	finished  bool
	back      *RollBack
	victims   []Victim
	nodes     []NodeWant
	create    *SetWant
	moves     []Move
	sets      []SetWant
	byMarks   bool
	unprotect []MachineRef
	prune     []SetRef
	status    Status
	after     time.Duration
}

// plan returns the draft in order.
func (d *draft) plan() Plan {
	return Plan{Actions: append(d.actions(), Report{}, MarkNodesLate(d.marks(false))), ByMarks: d.byMarks, Status: d.status, After: d.after}
}

// actions returns the actions before the report. The end of a deployment, and a rollback, exclude all other
// actions.
func (d *draft) actions() []Action {
	switch {
	case d.finished:
		return []Action{Finish{}}
	case d.back != nil:
		return []Action{*d.back}
	}
	out := []Action{d.Amend, MarkVictims(d.victims)}
	if d.create != nil {
		out = append(out, CreateSet{*d.create})
	}
	out = append(out, MarkNodes(d.marks(true)), HandOver(d.moves))
	for _, w := range d.sets {
		out = append(out, ApplySet{w})
	}
	return append(out, d.Amend, Unprotect(d.unprotect), DeleteSets(d.prune))
}

// marks returns the urgent node marks, or the others.
func (d *draft) marks(urgent bool) (out []NodeWant) {
	for _, w := range d.nodes {
		if w.urgent() == urgent {
			out = append(out, w)
		}
	}
	return out
}

// urgent reports whether a mark has to be written before sets are changed: a drain depends on where new pods
// go, and updates in place wait for their marks. Marks for the autoscaler, and the removal of marks, can
// wait.
func (w NodeWant) urgent() bool { return w.Avoid || w.Update != inplace.WishNothing }

// The following methods return the actions of one kind, for callers that do not need the order.

// each returns the actions of a kind.
func each[A Action](p Plan) (out []A) {
	for _, a := range p.Actions {
		if a, ok := a.(A); ok {
			out = append(out, a)
		}
	}
	return out
}

// Finished reports whether the deployment's deletion ends.
func (p Plan) Finished() bool { return len(each[Finish](p)) > 0 }

// RollBack returns the rollback to another template, or nil.
func (p Plan) RollBack() *RollBack {
	if all := each[RollBack](p); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Amendment returns the records for the deployment's metadata.
func (p Plan) Amendment() Amend {
	if all := each[Amend](p); len(all) > 0 {
		return all[0]
	}
	return Amend{}
}

// Victims returns the machines to mark.
func (p Plan) Victims() []Victim { return slices.Concat(each[MarkVictims](p)...) }

// Create returns the set to create; nil: it exists, or must not be created now.
func (p Plan) Create() *SetWant {
	if all := each[CreateSet](p); len(all) > 0 {
		return &all[0].SetWant
	}
	return nil
}

// Nodes returns the nodes to mark, including those that can wait.
func (p Plan) Nodes() []NodeWant {
	return append(slices.Concat(each[MarkNodes](p)...), slices.Concat(each[MarkNodesLate](p)...)...)
}

// Moves returns the machines to hand over.
func (p Plan) Moves() []Move { return slices.Concat(each[HandOver](p)...) }

// Sets returns the wanted states of the sets.
func (p Plan) Sets() (out []SetWant) {
	for _, a := range each[ApplySet](p) {
		out = append(out, a.SetWant)
	}
	return out
}

// Unprotect returns the machines whose protection ends.
func (p Plan) Unprotect() []MachineRef { return slices.Concat(each[Unprotect](p)...) }

// Delete returns the sets to delete.
func (p Plan) Delete() []SetRef { return slices.Concat(each[DeleteSets](p)...) }
