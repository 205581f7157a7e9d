package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// Wish is a request about keeping a machine although it failed, or although there is one too many. Each API
// group has its own words for it.
type Wish string

// The wishes.
const (
	WishNone Wish = ""
	// WishNot: do not keep it.
	WishNot Wish = "Not"
	// WishNow: keep it from now on, in any state.
	WishNow Wish = "Now"
	// WishFailed: keep it while it is Failed.
	WishFailed Wish = "WhenFailed"
	// WishOwner: its owner chose to keep it, and has to choose again after the next failure.
	WishOwner Wish = "ChosenByOwner"
	// WishUnknown: the word is unknown.
	WishUnknown Wish = "Unknown"
)

// Preservation has the facts in a machine's object about keeping it.
type Preservation struct {
	// Own is the machine's own wish, LastApplied is the node's wish that was last acted upon.
	Own, LastApplied Wish
	// Until is when keeping it ends; zero while it is not kept.
	Until time.Time
}

// PreserveCondition is the state of a machine's preservation, as shown on its node.
type PreserveCondition string

// The conditions.
const (
	PreserveNone PreserveCondition = ""
	// PreserveActive: the machine is kept, and if it failed, its node is drained.
	PreserveActive PreserveCondition = "Kept"
	// PreserveDraining: the machine is kept and failed, its node is not drained yet.
	PreserveDraining PreserveCondition = "Draining"
	// PreserveStopped: the machine was kept, and is no longer.
	PreserveStopped PreserveCondition = "Stopped"
)

// NodePreservation has the facts on a node about keeping its machine.
type NodePreservation struct {
	// Wish is the node's wish.
	Wish Wish
	// Fenced says that a taint keeps new pods off the node for that, FencedSince since when (zero if
	// unknown).
	Fenced      bool
	FencedSince time.Time
	Condition   PreserveCondition
}

// inForce reports whether the node was prepared for keeping its machine.
func (k NodePreservation) inForce() bool {
	return k.Fenced || k.Condition == PreserveActive || k.Condition == PreserveDraining
}

// drained reports whether the pods were evicted since the machine failed: the condition is Draining from
// before the fence is set.
func (k NodePreservation) drained() bool { return k.Fenced && k.Condition == PreserveActive }

// PreservePlan is the plan for a machine's preservation: the wanted state of its object and its node. The
// zero value changes nothing.
type PreservePlan struct {
	// Bound says that there is something to write.
	Bound bool
	// Wish is the error in the wish.
	Wish PreserveFault
	// Machine is the wanted state of the object, Node has the actions on the node.
	Machine PreservedMachine
	Node    PreservedNode
	// After is the time until the next decision; zero: never.
	After time.Duration
}

// PreserveFault is the error in a wish.
type PreserveFault struct {
	// Refused says that the node's wish is unknown, so nothing is done; Ignored that the machine's own wish
	// is unknown, so it does not count. Told says that this has been reported already.
	Refused, Ignored, Told bool
}

// PreservedMachine is the wanted state of a machine's object about keeping it.
type PreservedMachine struct {
	// Preserve says that the machine is kept, ByOwner that its owner chose so.
	Preserve, ByOwner bool
	Until             time.Time
	LastApplied       Wish
	// DropWish removes the machine's own wish.
	DropWish bool
}

// PreservedNode has the actions on the node of a kept machine.
type PreservedNode struct {
	// DropWish removes the node's wish.
	DropWish bool
	// End undoes all changes made for keeping the machine.
	End bool
	// Fence keeps new pods off the node, Drain evicts the others.
	Fence bool
	Drain DrainMode
	// Condition is the wanted condition of the node, Message its text: what the drain waits for, or why the
	// machine is no longer kept. PreserveNone does not change the condition.
	Condition PreserveCondition
	Message   string
}

// DrainMode is how pods are evicted.
type DrainMode string

// The modes.
const (
	DrainNone    DrainMode = ""
	DrainPatient DrainMode = "Patient"
	DrainForced  DrainMode = "Forced"
)

// Preserve decides whether a machine is kept although it failed, or although there is one too many, and the
// required changes. [Decide] calls it for machines that are not under deletion, after all decisions about
// their health, and again after each of its steps ([Preserving]). Like [Decide] it has an answer for every
// input.
//
// The machine records that it is kept before its node is changed, and that it is not kept after all changes
// were undone.
func Preserve(now time.Time, m Machine, w World, p Policy) PreservePlan {
	q := input{now: now, m: m, w: w, p: p}
	if !p.Preserve.Supported || !m.Deleted.IsZero() || m.Stage == StageDeleting || !p.Targetless && !w.Node.Looked {
		return PreservePlan{}
	}
	if m.Preservation == (Preservation{}) && w.Node.Preservation.Wish == WishNone && !w.Node.Preservation.inForce() {
		return PreservePlan{}
	}
	wish, byNode := q.wish()
	k := PreservePlan{Bound: true, Machine: PreservedMachine{Until: m.Preservation.Until, LastApplied: m.Preservation.LastApplied}, Wish: PreserveFault{Ignored: m.Preservation.Own == WishUnknown}}
	if wish == WishUnknown {
		k.Wish.Refused = true
		return k
	}
	k.Machine.LastApplied = WishNone
	if byNode {
		k.Machine.LastApplied, k.Machine.DropWish = w.Node.Preservation.Wish, m.Preservation.Own != WishNone
	}
	return q.preserveOrEnd(k, wish)
}

// wish returns the wish that counts: the node's if it has or had one, otherwise the machine's. Without a node
// it is the machine's.
func (q input) wish() (w Wish, byNode bool) {
	if q.w.Node.Object != nil && (q.w.Node.Preservation.Wish != WishNone || q.m.Preservation.LastApplied != WishNone) {
		return q.w.Node.Preservation.Wish, true
	}
	if q.m.Preservation.Own == WishUnknown {
		return WishNone, false
	}
	return q.m.Preservation.Own, false
}

func (q input) preserveOrEnd(k PreservePlan, wish Wish) PreservePlan {
	failed := q.m.Stage == StageFailed
	switch {
	case wish == WishNone, wish == WishNot:
		return q.preserveEnds(k, "it is no longer requested")
	case q.preserveOver():
		return q.preserveEnds(q.forgetting(k), preserveTimeOver)
	case wish == WishFailed && !failed:
		return q.preserveEnds(k, "the machine has not failed, or has recovered")
	case wish == WishOwner && !failed:
		return q.preserveEnds(q.forgetting(k), "the machine has not failed, or has recovered")
	}
	k.Machine.ByOwner = wish == WishOwner
	return q.preserveGoesOn(k, failed)
}

const preserveTimeOver = "its time is over"

// preserveOver reports whether the time of the preservation is over.
func (q input) preserveOver() bool {
	return !q.m.Preservation.Until.IsZero() && q.w.Connectivity.Past(q.m.Preservation.Until, q.now)
}

// forgetting removes all wishes: a user who still wants the machine kept has to request it again.
func (q input) forgetting(k PreservePlan) PreservePlan {
	k.Machine.LastApplied, k.Machine.DropWish, k.Node.DropWish = WishNone, q.m.Preservation.Own != WishNone, q.w.Node.Preservation.Wish != WishNone
	return k
}

// preserveGoesOn continues the preservation. Its time begins once: repeating the same wish does not prolong
// it.
func (q input) preserveGoesOn(k PreservePlan, failed bool) PreservePlan {
	if k.Machine.Preserve = true; k.Machine.Until.IsZero() {
		k.Machine.Until = q.now.Add(q.p.Preserve.Timeout)
	}
	if k.After = max(k.Machine.Until.Sub(q.now), FirstDelay); !q.now.Before(k.Machine.Until) {
		k.After = connectivity.Settle // its time ended without a connection
	}
	if q.w.Node.Object == nil {
		return k
	}
	k.Node.Condition, k.Node.Fence = PreserveActive, failed
	if !failed || q.w.Node.Preservation.drained() && q.w.Preserving.Drain == nil {
		return k
	}
	switch d := q.w.Preserving.Drain; {
	case d == nil:
		k.Node.Condition, k.Node.Drain = PreserveDraining, q.preserveDrain()
	case !d.Done:
		k.Node.Condition, k.Node.Message = PreserveDraining, d.Message
		k.After = Earlier(k.After, q.preserveDrainAfter(*d))
	}
	return k
}

// preserveDrain returns a forced drain when the timeout for the pods has passed, as in an update. The timeout
// counts from the fence: nothing else is written when the drain begins, and no other program writes the
// fence.
func (q input) preserveDrain() DrainMode {
	overdue := q.p.Drain.Timeout > 0 && q.left(q.fencedSince(), q.p.Drain.Timeout) < 0
	if q.m.ForceDrain || overdue || q.helpless() {
		return DrainForced
	}
	return DrainPatient
}

func (q input) fencedSince() time.Time {
	switch k := q.w.Node.Preservation; {
	case !k.Fenced:
		return q.now
	case k.FencedSince.IsZero():
		return q.m.StageSince
	default:
		return k.FencedSince
	}
}

func (q input) preserveDrainAfter(d drain.Decision) time.Duration {
	after := d.Next
	if left := q.left(q.fencedSince(), q.p.Drain.Timeout); q.p.Drain.Timeout > 0 && left > 0 {
		after = Earlier(after, left+time.Second)
	}
	return after
}

// preserveEnds ends the preservation, or keeps it ended. A failed machine whose time is over keeps showing
// that time to its owner. Otherwise the owner, which looks for failed machines to keep, would choose this one
// again instead of replacing it.
func (q input) preserveEnds(k PreservePlan, why string) PreservePlan {
	until := q.m.Preservation.Until
	k.Machine.Until = time.Time{}
	if q.preserveOver() {
		if why = preserveTimeOver; q.m.Owned && q.m.Stage == StageFailed {
			k.Machine.Until = until
		}
	}
	if k.Node.End = !until.IsZero() || q.w.Node.Preservation.inForce(); k.Node.End {
		k.Node.Message = why
	}
	if k.Node.End && q.w.Node.Object != nil {
		k.Node.Condition = PreserveStopped
	}
	return k
}
