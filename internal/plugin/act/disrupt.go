package act

import (
	"errors"
	"strings"
	"unicode"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
)

// offerDrain offers to drain the node of a machine that stays. The controller drains the node of a machine in deletion.
func offerDrain(in input) (Offer, bool) {
	return Offer{Label: "Drain its node"}, in.kind == "Machine" && in.GetDeletionTimestamp() == nil && in.Node != "" && !in.Draining
}

// offerUncordon offers the way back from a drain.
func offerUncordon(in input) (Offer, bool) {
	out := Offer{Label: "Uncordon its node"}
	if in.Draining {
		out.Label = "End the drain and uncordon"
	}
	return out, in.kind == "Machine" && in.GetDeletionTimestamp() == nil && in.Node != "" && (in.Draining || in.Cordoned)
}

// isStop reports whether the object is the budget of `kubectl machine stop`.
func (in input) isStop() bool {
	return in.kind == v1alpha1.KindMachineDisruptionBudget && in.name == disruption.EmergencyStop
}

// offerStop offers to stop all disruption, unless the budget does that already.
func offerStop(in input) (Offer, bool) {
	out := Offer{Label: "Stop all disruption", Value: "why"}
	if !in.isStop() || in.Absent {
		return out, in.isStop()
	}
	spec := in.Object.Object.(*v1alpha1.MachineDisruptionBudget).Spec
	return out, !spec.Paused || len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) > 0
}

func offerResume(in input) (Offer, bool) {
	return Offer{Label: "End the stop"}, in.isStop() && !in.Absent
}

// longestMessage is the length of the longest message of a budget.
const longestMessage = 1024

// stop creates the budget of `kubectl machine stop`, or pauses it for all machines.
func stop(in input) (changed, error) {
	message := strings.TrimSpace(in.value)
	switch {
	case len(message) > longestMessage:
		return changed{}, errors.New("value: must have at most 1024 bytes")
	case strings.ContainsFunc(message, unicode.IsControl):
		return changed{}, errors.New("value: must be one line")
	}
	spec := map[string]any{"paused": true}
	line := "kubectl machine stop"
	if message != "" {
		spec["message"] = message
		line += " --message " + quoted(message)
	}
	if in.Absent {
		return changed{Create, map[string]any{"spec": spec}, line}, nil
	}
	spec["selector"] = nil
	return changed{Patch, map[string]any{"spec": spec}, line}, nil
}
