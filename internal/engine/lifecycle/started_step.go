package lifecycle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// DeletionStep is a phase of a machine's deletion, as shown to users: unlike a [Step] it lasts.
type DeletionStep string

// The steps of a deletion, in order. A machine goes through those that it needs.
const (
	// DeletionPreDrainHook: it waits for the owners of pre-drain hooks.
	DeletionPreDrainHook DeletionStep = "PreDrainHook"
	// DeletionBudget: it waits for the permit of disruption budgets.
	DeletionBudget DeletionStep = "DisruptionBudget"
	// DeletionDrain: pods have to leave the node.
	DeletionDrain DeletionStep = "Drain"
	// DeletionVolumeDetach: they have left, and their volumes are still attached.
	DeletionVolumeDetach DeletionStep = "VolumeDetach"
	// DeletionPreTerminateHook: it waits for the owners of pre-terminate hooks.
	DeletionPreTerminateHook DeletionStep = "PreTerminateHook"
	// DeletionInstance: the infrastructure has to terminate the instance.
	DeletionInstance DeletionStep = "InstanceDeletion"
	// DeletionNode: the instance is terminated, the node has to be deleted.
	DeletionNode DeletionStep = "NodeDeletion"
)

// DeletionSteps are all of them, in order.
var DeletionSteps = []DeletionStep{
	DeletionPreDrainHook, DeletionBudget, DeletionDrain, DeletionVolumeDetach, DeletionPreTerminateHook, DeletionInstance, DeletionNode,
}

var deletionWords = map[DeletionStep]string{
	DeletionPreDrainHook: "pre-drain hooks", DeletionBudget: "disruption budgets", DeletionDrain: "drain", DeletionVolumeDetach: "volume detachment",
	DeletionPreTerminateHook: "pre-terminate hooks", DeletionInstance: "instance deletion", DeletionNode: "node deletion",
}

// Words returns the text for users: "volume detachment".
func (s DeletionStep) Words() string { return deletionWords[s] }

func (s DeletionStep) place() int { return slices.Index(DeletionSteps, s) }

// StartedStep is a step of a deletion, and when it began, in whole seconds.
type StartedStep struct {
	Step DeletionStep
	At   time.Time
	// Seen says, for [DeletionInstance], that the instance was seen terminating ([Instances].SeenToGo): the
	// next process need not see it again.
	Seen bool
	// Cause is, for [DeletionBudget], why the machine is disrupted, from the first answer of the disruption budgets
	// that knew it; empty if it is unknown.
	Cause v1alpha1.DisruptionReason
}

// Begin returns the steps that have begun by the end of a pass, in order, given those recorded before it and
// the time of the deletion. A recorded step keeps its time, so that timeouts continue in a new process. If a
// deletion has gone back, for example to a drain because a new pod was scheduled, the later steps begin
// again. No step is older than the deletion: its timestamp is from another clock.
func Begin(recorded []StartedStep, deleted time.Time, o Outcome) []StartedStep {
	reached := o.reached()
	if len(reached) == 0 {
		return recorded
	}
	last := reached[len(reached)-1]
	if o.Reason == ReasonNodeUnknown && slices.ContainsFunc(recorded, func(b StartedStep) bool { return b.Step.place() >= last.place() }) {
		return recorded // a node that cannot be read does not mean that the deletion has gone back
	}
	out := slices.DeleteFunc(slices.Clone(recorded), func(b StartedStep) bool {
		return b.At.Before(deleted) || b.Step.place() > last.place()
	})
	at := o.At.Truncate(time.Second)
	if at.Before(deleted) {
		at = deleted
	}
	for _, s := range reached {
		if _, there := since(out, s); !there {
			out = append(out, StartedStep{Step: s, At: at})
		}
	}
	for n := range out {
		out[n].Seen = out[n].Seen || out[n].Step == DeletionInstance && o.World.Instances.SeenToGo
		if out[n].Step == DeletionBudget {
			out[n].Cause = cmp.Or(out[n].Cause, o.World.Disruption.Cause)
		}
	}
	slices.SortStableFunc(out, func(a, b StartedStep) int { return a.Step.place() - b.Step.place() })
	return out
}

// Since returns when the step began; zero if it has not, or if that is not recorded.
func (m Machine) Since(s DeletionStep) time.Time {
	at, _ := since(m.Deletion.Started, s)
	return at
}

// SawInstanceGo reports whether the record says that the instance was seen terminating.
func (m Machine) SawInstanceGo() bool {
	return slices.ContainsFunc(m.Deletion.Started, func(b StartedStep) bool { return b.Seen })
}

func since(steps []StartedStep, s DeletionStep) (time.Time, bool) {
	for _, b := range steps {
		if b.Step == s {
			return b.At, true
		}
	}
	return time.Time{}, false
}

// Story returns in one line which steps began when: "begun: drain 2026-01-02T03:04:05Z, instance deletion
// 2026-01-02T03:06:05Z"; empty if none has.
func Story(steps []StartedStep) string {
	if len(steps) == 0 {
		return ""
	}
	parts := make([]string, len(steps))
	for i, b := range steps {
		parts[i] = deletionWords[b.Step] + " " + b.At.UTC().Format(time.RFC3339)
	}
	return "begun: " + strings.Join(parts, ", ")
}

// reached returns the deletion steps that the pass reached, in order. The last one is the current step.
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

// stands returns the step in which the last decision waits; empty if it waits in none.
func (o Outcome) stands() DeletionStep {
	switch o.Reason {
	case ReasonDrainBlockedHook:
		return DeletionPreDrainHook
	case ReasonDisruptionBudget:
		return DeletionBudget
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
		switch {
		case o.World.Removal.State == RemovalDone:
			return DeletionNode
		case o.World.Disruption.Governed && !o.World.Disruption.Permitted:
			return "" // not a drain: with a user's cordon on the node, its record would stand for a permit
		}
		return DeletionDrain
	}
	return ""
}
