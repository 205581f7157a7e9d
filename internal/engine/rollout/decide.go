package rollout

import (
	"fmt"
	"slices"
	"time"
)

// Decide returns the plan for d with the given sets at now. The order of sets and machines does not matter.
//
// A rollout passes these rules from top to bottom. A rule that returns true ends the pass; the next pass
// continues.
func Decide(now time.Time, d Deployment, sets []Set, p Policy) Plan {
	size, held := d.hold(sets)
	d.Replicas = size
	q := newInput(now, d, sets, p)
	q.held = held
	for _, rule := range []func(*input) (done bool){
		(*input).leave,
		(*input).refuse,
		(*input).grantWishes,
		(*input).goBack,
		(*input).number,
		(*input).admit,
		(*input).guard,
		(*input).rescale,
		(*input).relent,
		(*input).pause,
		(*input).create,
		(*input).roll,
		(*input).mark,
		(*input).prune,
	} {
		if rule(q) {
			break
		}
	}
	return q.finish()
}

// hold returns how many machines there may be, and why not all that are wanted.
func (d *Deployment) hold(sets []Set) (size int, why string) {
	if d.Deleting || len(d.Faults) > 0 {
		return d.Replicas, ""
	}
	there := 0
	for _, s := range sets {
		there += len(s.Machines)
	}
	return d.Guard.Growth.Hold(d.Replicas, there)
}

// leave decides about a deployment under deletion.
func (q *input) leave() bool {
	switch {
	case !q.d.Deleting:
		return false
	case !q.p.Cascade:
		q.draft.finished = true
	case q.d.Orphaning:
	case len(q.all)+len(q.dying) == 0:
		q.draft.finished = true
	default:
		for _, b := range q.all {
			q.draft.prune = append(q.draft.prune, SetRef{UID: b.UID, Name: b.Name, Note: "its deployment is being deleted"})
		}
	}
	return true
}

// refuse ends the pass for an invalid object.
func (q *input) refuse() bool {
	if len(q.d.Faults) == 0 {
		return false
	}
	q.draft.status.Faulty = true
	q.draft.status.Progress = Progress{Status: False, Reason: InvalidObject, Message: q.d.Faults[0].String(), Since: q.now}
	return true
}

// number gives the current set the highest revision, and the deployment the same.
func (q *input) number() bool {
	if q.current == nil {
		return false
	}
	q.current.want.Revision = max(q.current.Revision, newest(q.old)+1)
	q.draft.Revision = q.current.want.Revision
	return false
}

// newest returns the highest revision.
func newest(sets []*setState) (n int64) {
	for _, b := range sets {
		n = max(n, b.Revision)
	}
	return n
}

// pause ends the pass of a paused deployment. Empty sets are pruned, and nodes whose update is done are
// released.
func (q *input) pause() bool {
	if q.d.Paused {
		q.release()
		q.history()
	}
	return q.d.Paused
}

// create plans the set of the current template.
func (q *input) create() bool {
	if q.current != nil {
		return false
	}
	n := q.birth()
	w := SetWant{
		Current: true, Replicas: n, Was: n, Revision: newest(q.old) + 1,
		Note: fmt.Sprintf("no set has the current template; a new one begins with %s", machines(n)),
	}
	b := &setState{want: w}
	q.record(b)
	q.draft.create, q.draft.Revision = &b.want, w.Revision
	q.mark()
	return true
}

// birth returns with how many machines a new set begins. It may be zero: the set exists so that the template
// has its revision. A set that was deleted while machines are updated in place is created again, and receives
// those machines.
func (q *input) birth() int {
	switch {
	case q.d.Frozen != "", q.d.Strategy == Recreate && !q.cleared():
		return 0
	case q.d.Strategy == OnDelete:
		return max(0, q.d.Replicas-sum(q.old, wanted))
	case q.d.Strategy == InPlace && (q.d.ByHand || q.p.Nodeless) && q.rolling():
		return max(0, q.d.Replicas-q.total())
	}
	q.limit = q.canary()
	return max(0, min(q.room(), q.grown()))
}

// cleared reports whether no old machine exists, and none can still appear.
func (q *input) cleared() bool {
	return len(q.dying) == 0 && !slices.ContainsFunc(q.old, func(b *setState) bool { return !b.empty() }) && q.heeded(q.old)
}

// roll brings the sets closer to the current template.
func (q *input) roll() bool {
	if q.current == nil {
		return false
	}
	switch q.d.Strategy {
	case Recreate:
		q.recreate()
	case OnDelete:
		q.onDelete()
	case InPlace:
		q.inPlace()
	case Rolling:
		q.growCurrent()
		q.shrinkOld()
	}
	return false
}

// finish assembles the plan. Sets of a deployment that is under deletion, invalid or rolling back are left as
// they are.
func (q *input) finish() Plan {
	if !q.d.Deleting && len(q.d.Faults) == 0 && q.draft.back == nil {
		q.writeSets()
		q.draft.byMarks = q.marked && q.chooses()
		q.unshield()
	}
	q.status()
	return q.draft.plan()
}

// chooses reports whether a set shrinks that is not the only one with machines: another one could have shrunk
// instead.
func (q *input) chooses() bool {
	shrinks := func(b *setState) bool { return b.want.Replicas < b.Replicas }
	return slices.ContainsFunc(q.all, shrinks) && sum(q.all, func(b *setState) int { return min(1, b.Replicas) }) > 1
}

// writeSets writes sets that keep machines first, then those that delete some, then those that create some.
func (q *input) writeSets() {
	sets := slices.Clone(q.all)
	slices.SortStableFunc(sets, func(a, b *setState) int { return a.turn() - b.turn() })
	for _, b := range sets {
		if !slices.ContainsFunc(q.draft.prune, func(r SetRef) bool { return r.UID == b.UID }) {
			q.draft.sets = append(q.draft.sets, b.want)
		}
	}
}

// turn orders sets: those that have to keep machines that they were about to delete, then those that shrink,
// those that stay, and those that grow.
func (b *setState) turn() int {
	switch {
	case b.want.Replicas > b.want.Was && b.want.Replicas <= b.want.Was+b.chosen():
		return 0
	case b.want.Replicas < b.want.Was:
		return 1
	case b.want.Replicas == b.want.Was:
		return 2
	}
	return 3
}

func machines(n int) string {
	if n == 1 {
		return "1 machine"
	}
	return fmt.Sprintf("%d machines", n)
}
