package lifecycle

import (
	"time"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// Wish is what somebody asks about keeping a machine although it failed, or
// there is one too many. Each API group has its own words for it.
type Wish string

// The wishes.
const (
	WishNone Wish = ""
	// WishNot: it is not to be kept.
	WishNot Wish = "Not"
	// WishNow: it is to be kept from now on, whatever becomes of it.
	WishNow Wish = "Now"
	// WishFailed: it is to be kept while it is Failed.
	WishFailed Wish = "WhenFailed"
	// WishOwner: its owner chose to keep it, and has to choose again when it
	// fails again.
	WishOwner Wish = "ChosenByOwner"
	// WishUnknown: the word means nothing.
	WishUnknown Wish = "Unknown"
)

// Preservation is what a machine's object says about keeping it.
type Preservation struct {
	// Own is what the machine itself asks, LastApplied what its node asked when that
	// was last acted upon.
	Own, LastApplied Wish
	// Until is when keeping it ends; zero while it is not kept.
	Until time.Time
}

// PreserveCondition is what a node tells its readers about keeping its machine.
type PreserveCondition string

// The conditions.
const (
	PreserveNone PreserveCondition = ""
	// PreserveActive: the machine is kept, and if it failed, its node is drained.
	PreserveActive PreserveCondition = "Kept"
	// PreserveDraining: the machine is kept and failed, its node is not drained yet.
	PreserveDraining PreserveCondition = "Draining"
	// PreserveStopped: the machine was kept once.
	PreserveStopped PreserveCondition = "Stopped"
)

// NodePreservation is what a node says about keeping its machine.
type NodePreservation struct {
	// Wish is what the node asks.
	Wish Wish
	// Fenced says that new pods are kept off the node for that, FencedSince
	// since when (zero when that is not known).
	Fenced      bool
	FencedSince time.Time
	Condition   PreserveCondition
}

// inForce reports whether the node was prepared for keeping its machine.
func (k NodePreservation) inForce() bool {
	return k.Fenced || k.Condition == PreserveActive || k.Condition == PreserveDraining
}

// drained reports whether the pods were moved away since the machine failed:
// the condition says Draining from before the fence is put up.
func (k NodePreservation) drained() bool { return k.Fenced && k.Condition == PreserveActive }

// PreservePlan is what is to become of keeping a machine: what its object and its
// node are to say. The zero value leaves everything as it is.
type PreservePlan struct {
	// Bound says that there is something to say at all.
	Bound bool
	// Wish is what is wrong with what is asked.
	Wish PreserveFault
	// Machine is what the object is to say, Node what is to be done on the node.
	Machine PreservedMachine
	Node    PreservedNode
	// After is when to ask again; zero: never.
	After time.Duration
}

// PreserveFault is what is wrong with a wish.
type PreserveFault struct {
	// Refused says that what the node asks means nothing, so that nothing is
	// done; Ignored the same of the machine, whose wish does not count then.
	// Told says that there is no news in that.
	Refused, Ignored, Told bool
}

// PreservedMachine is what a machine's object is to say about keeping it.
type PreservedMachine struct {
	// Preserve says that the machine is kept, ByOwner that its owner chose so.
	Preserve, ByOwner bool
	Until             time.Time
	LastApplied       Wish
	// DropWish takes the machine's own wish away.
	DropWish bool
}

// PreservedNode is what is to be done on the node of a machine that is kept.
type PreservedNode struct {
	// DropWish takes the node's wish away.
	DropWish bool
	// End undoes what was done for keeping the machine.
	End bool
	// Fence keeps new pods off the node, Drain moves the others away.
	Fence bool
	Drain DrainMode
	// Condition is what the node is to tell, Message in more words: what the drain
	// waits for, or why the machine is kept no more. PreserveNone leaves what it tells.
	Condition PreserveCondition
	Message   string
}

// DrainMode is how pods are moved away.
type DrainMode string

// The modes.
const (
	DrainNone    DrainMode = ""
	DrainPatient DrainMode = "Patient"
	DrainForced  DrainMode = "Forced"
)

// Preserve decides whether a machine is kept although it failed, or there is one
// too many, and what that takes. [Decide] asks it about living machines, once all is
// decided that has to do with their health, and again after each step of it
// ([Preserving]). Like [Decide] it is total.
//
// The machine is to say that it is kept before anything is done to its node,
// and that it is not after all of that was undone.
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

// wish is the one that counts: the node's wherever it has or had one. Without
// a node it is the machine's.
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
		return q.preserveEnds(k, "nobody asks for it any more")
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

// preserveOver reports whether the machine was kept for as long as it was to be.
func (q input) preserveOver() bool {
	return !q.m.Preservation.Until.IsZero() && q.w.Connectivity.Past(q.m.Preservation.Until, q.now)
}

// forgetting takes all wishes away: who still wants the machine kept has to ask
// anew.
func (q input) forgetting(k PreservePlan) PreservePlan {
	k.Machine.LastApplied, k.Machine.DropWish, k.Node.DropWish = WishNone, q.m.Preservation.Own != WishNone, q.w.Node.Preservation.Wish != WishNone
	return k
}

// preserveGoesOn on. The time begins once: wishing the same again does not prolong
// it.
func (q input) preserveGoesOn(k PreservePlan, failed bool) PreservePlan {
	if k.Machine.Preserve = true; k.Machine.Until.IsZero() {
		k.Machine.Until = q.now.Add(q.p.Preserve.Timeout)
	}
	if k.After = max(k.Machine.Until.Sub(q.now), FirstDelay); !q.now.Before(k.Machine.Until) {
		k.After = connectivity.Settle // its time came unseen
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

// preserveDrain is forced when patience with the pods is at its end, as in an update.
// That is counted from the fence: nothing else is written when the drain begins, and by
// nobody else.
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

// preserveEnds, or has ended long ago. A failed machine whose time is over goes on
// showing that time to its owner, which looks for failed machines to keep, and
// would choose this one anew instead of replacing it.
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
