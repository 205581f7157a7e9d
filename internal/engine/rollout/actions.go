package rollout

import (
	"slices"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// Action is one thing to do. An action that fails stops the actions after it that wait, until
// the next pass.
type Action interface {
	// Waits reports whether the action is left out once one before it has failed.
	Waits() bool
}

// The actions, in the order in which plans have them.
type (
	// Finish lets a deployment go that is being deleted and has no sets left.
	Finish struct{}
	// Amend writes what the deployment's metadata say about the rollout. It comes once more
	// after the sets: what was passed on to all of them is dropped before they can act on
	// it, or they would be told again.
	Amend struct {
		// Revision is the one to record with the deployment; 0 leaves it alone.
		Revision int64
		// Wishes are those that are still to be granted; they are written where
		// Rewish says that they differ from what the deployment says.
		Wishes []Wish
		Rewish bool
	}
	// MarkVictims marks machines as the autoscaler's choice. It comes before any set is
	// scaled, so that the marks count.
	MarkVictims []Victim
	// CreateSet makes the set of the present template.
	CreateSet struct{ SetWant }
	// MarkNodes writes what nodes are to carry, where they do not yet. Marking a thousand of
	// them takes seconds, so that the new set is made before, to get its first machines
	// meanwhile. A node that cannot be written stops nothing.
	MarkNodes []NodeWant
	// HandOver hands machines over to another set. Their sets are made to fit them
	// afterwards.
	HandOver []Move
	// ApplySet makes a set look as it is to. Every set that is not being deleted has one.
	ApplySet struct{ SetWant }
	// Unprotect lets machines count like any other whose set has made room for them.
	Unprotect []MachineRef
	// DeleteSets deletes sets.
	DeleteSets []SetRef
	// Report writes the status.
	Report struct{}
	// MarkNodesLate is MarkNodes for what can wait until the rollout has gone on and the
	// status is written.
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

// Waits implements [Action]. What was done, and what failed, is reported in any case.
func (Report) Waits() bool { return false }

// Waits implements [Action]. Nothing depends on these marks, nor they on anything.
func (MarkNodesLate) Waits() bool { return false }

// draft is what the rules have decided so far, by kind.
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

// plan puts the draft in order.
func (d *draft) plan() Plan {
	return Plan{Actions: append(d.actions(), Report{}, MarkNodesLate(d.marks(false))), ByMarks: d.byMarks, Status: d.status, After: d.after}
}

// actions are those before the report. Nothing is done beside the end of a deployment, or
// its way back to another template.
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

// marks are the nodes to mark that are urgent, or those that are not.
func (d *draft) marks(urgent bool) (out []NodeWant) {
	for _, w := range d.nodes {
		if w.urgent() == urgent {
			out = append(out, w)
		}
	}
	return out
}

// urgent reports whether a mark has to be there before sets are changed: where
// new pods go decides what a drain does, and updates in place wait for theirs.
// Whether the autoscaler leaves a node alone, and marks that come off, can wait.
func (w NodeWant) urgent() bool { return w.Avoid || w.Update != inplace.WishNothing }

// What follows are the actions of one kind, for those who do not ask for the order.

// each are the actions of a kind.
func each[A Action](p Plan) (out []A) {
	for _, a := range p.Actions {
		if a, ok := a.(A); ok {
			out = append(out, a)
		}
	}
	return out
}

// Finished reports whether the deployment is let go.
func (p Plan) Finished() bool { return len(each[Finish](p)) > 0 }

// RollBack is the way back to another template; nil when there is none.
func (p Plan) RollBack() *RollBack {
	if all := each[RollBack](p); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Amendment is what the metadata of the deployment are to say.
func (p Plan) Amendment() Amend {
	if all := each[Amend](p); len(all) > 0 {
		return all[0]
	}
	return Amend{}
}

// Victims are the machines to mark.
func (p Plan) Victims() []Victim { return slices.Concat(each[MarkVictims](p)...) }

// Create is the set to make; nil: it is there, or must not be made now.
func (p Plan) Create() *SetWant {
	if all := each[CreateSet](p); len(all) > 0 {
		return &all[0].SetWant
	}
	return nil
}

// Nodes are the nodes to mark, those that can wait included.
func (p Plan) Nodes() []NodeWant {
	return append(slices.Concat(each[MarkNodes](p)...), slices.Concat(each[MarkNodesLate](p)...)...)
}

// Moves are the machines to hand over.
func (p Plan) Moves() []Move { return slices.Concat(each[HandOver](p)...) }

// Sets are what the sets are to look like.
func (p Plan) Sets() (out []SetWant) {
	for _, a := range each[ApplySet](p) {
		out = append(out, a.SetWant)
	}
	return out
}

// Unprotect are the machines that count like any other from now on.
func (p Plan) Unprotect() []MachineRef { return slices.Concat(each[Unprotect](p)...) }

// Delete are the sets to delete.
func (p Plan) Delete() []SetRef { return slices.Concat(each[DeleteSets](p)...) }
