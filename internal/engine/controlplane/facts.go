// Package controlplane decides about the machines of a control plane: which machine is created or deleted next, which failure
// domain each index has, and which status is reported. An index is the number at the end of a machine's name. A control plane has
// one machine for each index; during a replacement, an index has the old and the new machine.
//
// The package is pure. It returns at most one step for each index and pass, and a reason with each step.
// docs/originals/controlplanemachineset.md describes the replaced operator.
package controlplane

import (
	"strconv"
	"strings"
	"time"
)

// Strategy says when outdated machines are replaced.
type Strategy string

// The strategies, with the values of the API.
const (
	RollingUpdate Strategy = "RollingUpdate" // one index at a time, without a user's action
	OnDelete      Strategy = "OnDelete"      // after a user has deleted a machine
	Recreate      Strategy = "Recreate"      // known to the API's types, and not supported
)

// Machine has the facts about one machine of the control plane.
type Machine struct {
	// Name is unique in the set.
	Name string
	// Index is that of the name; machines without one get theirs from [Assign].
	Index int32
	// Created is when the machine was created; of machines with equal times, the lower name counts as older.
	Created time.Time
	// Ready is the result of [Ready].
	Ready bool
	// Outdated: the machine differs from the template with the failure domain of its index. Unknown is false.
	Outdated bool
	// Deleting: the machine is under deletion.
	Deleting bool
	// Foreign: another controller owns the machine.
	Foreign bool
	// Failure is the error that the machine's status reports; empty: none.
	Failure string
}

// old reports whether another machine must take the place of m.
func (m Machine) old() bool { return m.Outdated || m.Deleting }

// pending reports whether m is to take the place of an old machine, and is not ready yet.
func (m Machine) pending() bool { return !m.old() && !m.Ready }

// current reports whether m is what its index is to have.
func (m Machine) current() bool { return !m.old() && m.Ready }

// older reports whether m is older than n.
func (m Machine) older(n Machine) bool {
	if !m.Created.Equal(n.Created) {
		return m.Created.Before(n.Created)
	}
	return m.Name < n.Name
}

// Set has the facts about a control plane.
type Set struct {
	// Replicas is the number of indexes, at least 1.
	Replicas int32
	Strategy Strategy
	// Active: machines may be created and deleted. Otherwise the plan has only a status.
	Active   bool
	Machines []Machine
	// UnmanagedNodes counts the nodes of the control plane that belong to no machine of the set.
	UnmanagedNodes int
}

// Index returns the number behind the last hyphen of a machine's name, which is a decimal number of 32 bits. The name
// "a-master-3" has the index 3; "master3" has none.
func Index(name string) (index int32, ok bool) {
	n, err := strconv.ParseInt(name[strings.LastIndex(name, "-")+1:], 10, 32)
	return int32(n), err == nil && n >= 0
}

// Phase is the phase of a machine, as far as readiness depends on it.
type Phase int

// The phases.
const (
	OtherPhase Phase = iota
	Running
	Deleting
)

// unreadyTolerance is how long a node may be unready before its machine counts as unready: a reboot is no failure. The replaced operator has the same value.
const unreadyTolerance = 20 * time.Minute

// Node has the facts about the node of a machine. The zero value is a machine without a node.
type Node struct {
	// Found: the machine names a node, and the node exists.
	Found bool
	// Ready is the status of the condition Ready; false also means unknown.
	Ready bool
	// Since is when that status last changed; zero: unknown.
	Since time.Time
}

// Ready reports whether a machine counts as ready, and after which time the answer changes without an event; 0: never.
func Ready(now time.Time, phase Phase, n Node) (ready bool, recheck time.Duration) {
	switch {
	case !n.Found || phase == OtherPhase:
		return false, 0
	case n.Ready:
		return true, 0
	case phase != Running:
		return false, 0
	}
	left := n.Since.Add(unreadyTolerance).Sub(now)
	return left > 0, max(0, left)
}
