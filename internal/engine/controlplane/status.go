package controlplane

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions.
const (
	Available   = "Available"
	Degraded    = "Degraded"
	Progressing = "Progressing"
	Error       = "Error"
)

// The reasons of conditions. Clients match on them.
const (
	AsExpected           = "AsExpected"
	UnavailableReplicas  = "UnavailableReplicas"
	AllReplicasAvailable = "AllReplicasAvailable"
	NoReadyMachines      = "NoReadyMachines"
	NeedsUpdateReplicas  = "NeedsUpdateReplicas"
	ExcessReplicas       = "ExcessReplicas"
	AllReplicasUpdated   = "AllReplicasUpdated"
	OperatorDegraded     = "OperatorDegraded"
	UnmanagedNodes       = "UnmanagedNodes"
	ExcessIndexes        = "ExcessIndexes"
	ExcessUpdated        = "ExcessUpdatedReplicas"
	FailedReplacement    = "FailedReplacement"
	MachinesAlreadyOwned = "MachinesAlreadyOwned"
	InvalidStrategy      = "InvalidStrategy"
	ContinuousErrors     = "ContinuousErrors"
)

// Status has the counters and conditions of a set.
type Status struct {
	// Replicas counts all machines, Ready those that are ready, Updated those of them that are not outdated, and Unavailable the
	// indexes without a ready machine.
	Replicas, Ready, Updated, Unavailable int32
	// Conditions have no times and no generation, which the controller adds.
	Conditions []metav1.Condition
}

// degraded reports whether no machine may be created or deleted.
func (s Status) degraded() bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return c.Type == Degraded && c.Status == metav1.ConditionTrue })
}

func statusOf(s Set, indexes map[int32][]Machine) Status {
	var out Status
	for _, machines := range indexes {
		ready := false
		for _, m := range machines {
			out.Replicas++
			if m.Ready {
				ready = true
				out.Ready++
				if !m.Outdated {
					out.Updated++
				}
			}
		}
		if !ready {
			out.Unavailable++
		}
	}
	progressing := out.progressing(s.Replicas)
	reason, message := refusal(s, indexes)
	degraded := condition(Degraded, metav1.ConditionFalse, AsExpected, "")
	switch {
	case reason != "":
		degraded = condition(Degraded, metav1.ConditionTrue, reason, message)
		if reason != MachinesAlreadyOwned && reason != InvalidStrategy {
			progressing = condition(Progressing, metav1.ConditionFalse, OperatorDegraded, "")
		}
	case out.Ready == 0:
		degraded = condition(Degraded, metav1.ConditionTrue, NoReadyMachines, "")
	}
	out.Conditions = []metav1.Condition{out.available(), degraded, progressing}
	return out
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func (s Status) available() metav1.Condition {
	if s.Unavailable > 0 {
		return condition(Available, metav1.ConditionFalse, UnavailableReplicas, fmt.Sprintf("Missing %d available replica(s)", s.Unavailable))
	}
	return condition(Available, metav1.ConditionTrue, AllReplicasAvailable, "")
}

func (s Status) progressing(replicas int32) metav1.Condition {
	switch {
	case replicas > s.Updated:
		return condition(Progressing, metav1.ConditionTrue, NeedsUpdateReplicas, fmt.Sprintf("Observed %d replica(s) in need of update", replicas-s.Updated))
	case replicas < s.Ready:
		return condition(Progressing, metav1.ConditionTrue, ExcessReplicas, fmt.Sprintf("Waiting for %d old replica(s) to be removed", s.Ready-s.Updated))
	}
	return condition(Progressing, metav1.ConditionFalse, AllReplicasUpdated, "")
}

// refusal returns why no machine may be created or deleted; an empty reason: nothing is wrong. The first check that fails counts, in the
// order of the replaced operator. Fewer indexes than replicas are no reason: machines are created for them. A set that is not active is checked as well.
func refusal(s Set, indexes map[int32][]Machine) (reason, message string) {
	machines := len(s.Machines)
	count := func(of func(Machine) bool) (n int) {
		for _, m := range s.Machines {
			if of(m) {
				n++
			}
		}
		return n
	}
	filled := machines > 0
	for _, all := range indexes {
		filled = filled && len(all) > 0
	}
	switch {
	case filled && count(func(m Machine) bool { return m.Ready }) == 0:
		return NoReadyMachines, "No ready control plane machines found"
	case s.UnmanagedNodes > 0:
		return UnmanagedNodes, fmt.Sprintf("Found %d unmanaged node(s)", s.UnmanagedNodes)
	case int32(len(indexes)) > s.Replicas:
		return ExcessIndexes, fmt.Sprintf("Observed %d index(es) in excess", int32(len(indexes))-s.Replicas) + highest(s, indexes)
	}
	if reason, message = ofOneIndex(s, indexes); reason != "" {
		return reason, message
	}
	switch owned := count(func(m Machine) bool { return m.Foreign }); {
	case s.Active && owned > 0:
		return MachinesAlreadyOwned, "Observed already owned machine(s) in target machines"
	case s.Active && s.Strategy == Recreate:
		return InvalidStrategy, fmt.Sprintf("invalid value for spec.strategy.type: update strategy %q is not supported", s.Strategy)
	case s.Active && s.Strategy != RollingUpdate && s.Strategy != OnDelete:
		return InvalidStrategy, fmt.Sprintf("invalid value for spec.strategy.type: unknown update strategy: %s", s.Strategy)
	}
	return "", ""
}

// highest names the machines of the highest indexes: the number in the name of a machine that was not created for this set becomes an index (K7).
func highest(s Set, indexes map[int32][]Machine) string {
	var all []int32
	for index := range indexes {
		all = append(all, index)
	}
	slices.Sort(all)
	var names []string
	for _, index := range all[s.Replicas:] {
		for _, m := range indexes[index] {
			names = append(names, m.Name)
		}
	}
	return ": " + strings.Join(names, ", ")
}

// ofOneIndex returns the first refusal that one index causes, by ascending index. In contrast to the replaced operator, a machine under
// deletion is not in excess: its removal has begun (K24).
func ofOneIndex(s Set, indexes map[int32][]Machine) (reason, message string) {
	var all []int32
	for index := range indexes {
		all = append(all, index)
	}
	slices.Sort(all)
	for _, index := range all {
		updated := 0
		for _, m := range indexes[index] {
			if m.current() {
				updated++
			}
		}
		if s.Strategy == OnDelete && updated > 1 {
			return ExcessUpdated, fmt.Sprintf("Observed %d updated machine(s) in excess for index %d", updated-1, index)
		}
	}
	for _, index := range all {
		failed := 0
		for _, m := range indexes[index] {
			if m.pending() && m.Failure != "" {
				failed++
			}
		}
		if failed > 0 && slices.ContainsFunc(indexes[index], Machine.old) {
			return FailedReplacement, fmt.Sprintf("Observed %d replacement machine(s) in error state", failed)
		}
	}
	return "", ""
}
