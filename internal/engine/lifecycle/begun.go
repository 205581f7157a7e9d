package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// DeletionStep is a part of the way out of a machine, as people see it: unlike
// a [Step] it lasts.
type DeletionStep string

// The steps of a deletion, in the order in which a machine goes through those
// that it needs.
const (
	// DeletionPreDrainHook: the owners of pre-drain hooks are waited for.
	DeletionPreDrainHook DeletionStep = "PreDrainHook"
	// DeletionDrain: pods have to leave the node.
	DeletionDrain DeletionStep = "Drain"
	// DeletionVolumeDetach: they have left, and volumes of theirs are attached.
	DeletionVolumeDetach DeletionStep = "VolumeDetach"
	// DeletionPreTerminateHook: the owners of pre-terminate hooks are waited for.
	DeletionPreTerminateHook DeletionStep = "PreTerminateHook"
	// DeletionInstance: the infrastructure is to remove the instance.
	DeletionInstance DeletionStep = "InstanceDeletion"
	// DeletionNode: the instance is gone, the node has to go.
	DeletionNode DeletionStep = "NodeDeletion"
)

// DeletionSteps are all of them, in order.
var DeletionSteps = []DeletionStep{
	DeletionPreDrainHook, DeletionDrain, DeletionVolumeDetach, DeletionPreTerminateHook, DeletionInstance, DeletionNode,
}

var deletionWords = map[DeletionStep]string{
	DeletionPreDrainHook: "pre-drain hooks", DeletionDrain: "drain", DeletionVolumeDetach: "volume detachment",
	DeletionPreTerminateHook: "pre-terminate hooks", DeletionInstance: "instance deletion", DeletionNode: "node deletion",
}

// Words are what people read: "volume detachment".
func (s DeletionStep) Words() string { return deletionWords[s] }

func (s DeletionStep) place() int { return slices.Index(DeletionSteps, s) }

// Begun is a step of a deletion, and when it began, in whole seconds.
type Begun struct {
	Step DeletionStep
	At   time.Time
	// Seen says, of [DeletionInstance], that the instance was seen to go
	// ([Instances].SeenToGo): whoever goes on need not see it again.
	Seen bool
}

// Begin returns the steps that have begun by the end of a pass, in order, given
// those that were recorded before it and when the machine was deleted. What is
// recorded keeps its time, so that it counts from there on in a new process.
// Where a deletion has gone back, to a drain because a pod has come, the steps
// behind begin anew. Nothing is older than the deletion: the clock that stamped
// that is another one.
func Begin(recorded []Begun, deleted time.Time, o Outcome) []Begun {
	reached := o.reached()
	if len(reached) == 0 {
		return recorded
	}
	last := reached[len(reached)-1]
	if o.Reason == ReasonNodeUnknown && slices.ContainsFunc(recorded, func(b Begun) bool { return b.Step.place() >= last.place() }) {
		return recorded // a node that cannot be looked up has not gone back
	}
	out := slices.DeleteFunc(slices.Clone(recorded), func(b Begun) bool {
		return b.At.Before(deleted) || b.Step.place() > last.place()
	})
	at := o.At.Truncate(time.Second)
	if at.Before(deleted) {
		at = deleted
	}
	for _, s := range reached {
		if _, there := since(out, s); !there {
			out = append(out, Begun{Step: s, At: at})
		}
	}
	for n := range out {
		out[n].Seen = out[n].Seen || out[n].Step == DeletionInstance && o.World.Instances.SeenToGo
	}
	slices.SortStableFunc(out, func(a, b Begun) int { return a.Step.place() - b.Step.place() })
	return out
}

// Since is when the step began; zero when it has not, or that is not recorded.
func (m Machine) Since(s DeletionStep) time.Time {
	at, _ := since(m.Deletion.Begun, s)
	return at
}

// SawInstanceGo reports whether it is recorded that the instance was seen to go.
func (m Machine) SawInstanceGo() bool {
	return slices.ContainsFunc(m.Deletion.Begun, func(b Begun) bool { return b.Seen })
}

func since(steps []Begun, s DeletionStep) (time.Time, bool) {
	for _, b := range steps {
		if b.Step == s {
			return b.At, true
		}
	}
	return time.Time{}, false
}

// Story tells in one line what began when: "begun: drain 2026-01-02T03:04:05Z,
// instance deletion 2026-01-02T03:06:05Z"; empty when nothing has.
func Story(steps []Begun) string {
	if len(steps) == 0 {
		return ""
	}
	parts := make([]string, len(steps))
	for i, b := range steps {
		parts[i] = deletionWords[b.Step] + " " + b.At.UTC().Format(time.RFC3339)
	}
	return "begun: " + strings.Join(parts, ", ")
}

// reached are the steps of a deletion that the pass came to, in order. The last
// is where it stands.
func (o Outcome) reached() (out []DeletionStep) {
	for _, d := range o.Steps {
		switch d.Step {
		case Drain:
			out = append(out, DeletionDrain)
		case Terminate:
			out = append(out, DeletionInstance)
		case DeleteNode:
			out = append(out, DeletionNode)
		}
	}
	if s := o.stands(); s != "" {
		out = append(out, s)
	}
	return out
}

// stands is the step that the last decision waits in; empty when it waits in
// none.
func (o Outcome) stands() DeletionStep {
	switch o.Reason {
	case ReasonDrainBlockedHook:
		return DeletionPreDrainHook
	case ReasonDraining:
		if d := o.World.Drain.Result; d != nil && d.OnlyVolumes() {
			return DeletionVolumeDetach
		}
		return DeletionDrain
	case ReasonTerminateHook:
		return DeletionPreTerminateHook
	case ReasonDeletionNeedsHelp, ReasonTerminateFailed, ReasonTerminating, ReasonUnconfirmed, ReasonContradicted:
		return DeletionInstance
	case ReasonNodeUnknown:
		if o.World.Removal.State == RemovalDone {
			return DeletionNode
		}
		return DeletionDrain
	}
	return ""
}
