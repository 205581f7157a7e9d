// Package migrate moves a machine set and its machines from one API to the other, while their instances run.
//
// [Decide] is pure: it chooses the next step from the stored objects alone, so that an interrupted migration continues where it
// stopped. At each moment at most one Machine acts on an instance: the source is marked ([millwright.MovedTo]) before the target is
// created or released, and its object is deleted after the target has recorded the instance.
package migrate

import (
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Action is one write, or a wait.
type Action string

// The actions, in the order in which a migration performs them.
const (
	// CreateClass and CreateSet create the objects of the other API. The new set may not create machines.
	CreateClass Action = "CreateClass"
	CreateSet   Action = "CreateSet"
	// HoldSource forbids the source set to create machines.
	HoldSource Action = "HoldSource"
	// MarkSource marks a Machine, whose controller then leaves the instance alone.
	MarkSource Action = "MarkSource"
	// CreateMachine creates the Machine of the other API with the provider ID of the instance.
	CreateMachine Action = "CreateMachine"
	// UnmarkTarget removes the mark of a Machine that an earlier migration in the other direction has marked.
	UnmarkTarget Action = "UnmarkTarget"
	// DeleteSource deletes the marked Machine: only its object.
	DeleteSource Action = "DeleteSource"
	// ReleaseTarget allows the new set to create machines.
	ReleaseTarget Action = "ReleaseTarget"
	// DeleteSet deletes the source set, which has no machines.
	DeleteSet Action = "DeleteSet"
	// Wait: a controller has to act first.
	Wait Action = "Wait"
	// Done: nothing is left to do.
	Done Action = "Done"
)

// Step is the next step: an action on the Machine with the name, or on sets and classes. Why is for users.
type Step struct {
	Action  Action
	Machine string
	Why     string
}

// State has the facts about a migration.
type State struct {
	// Source is the set to migrate, Target the set of the other API; nil: it does not exist.
	Source, Target *Set
	// Class says that the other API has no classes, or that the class exists.
	Class bool
	// Pairs are the machines of both sets by name, in order.
	Pairs []Pair
}

// Set has the facts about a set.
type Set struct {
	// Replicas is the wanted number of machines, Observed the number of ready machines that its controller has counted.
	Replicas, Observed int32
	// Held says that the set may not create machines, Deleting that it is under deletion.
	Held, Deleting bool
}

// Pair has the Machines of both APIs with one name; nil: it does not exist.
type Pair struct {
	Name           string
	Source, Target *Machine
}

// Machine has the facts about a Machine.
type Machine struct {
	// Moved says that it is marked: its controller leaves its instance alone.
	Moved, Deleting bool
	// Running says that its node is ready, Recorded that its controller has accepted it.
	Running, Recorded bool
	ProviderID        string
	// Unfit is why it cannot be migrated; empty: it can.
	Unfit string
}

// Decide returns the next step.
func Decide(s State) Step {
	switch {
	case s.Source == nil && !s.anySource():
		return s.release()
	case s.Target != nil && s.Target.Deleting:
		return Step{Action: Wait, Why: "the set of the other API is being deleted"}
	case !s.Class:
		return Step{Action: CreateClass, Why: "machines of the other API need a machine class"}
	case s.Target == nil:
		return Step{Action: CreateSet, Why: "the new set owns the migrated machines"}
	case s.Source != nil && !s.Source.Held:
		return Step{Action: HoldSource, Why: "otherwise the set replaces each machine that leaves it"}
	}
	for _, p := range s.Pairs {
		if step := p.next(); step.Action != Done {
			step.Machine = p.Name
			return step
		}
	}
	switch {
	case s.Source == nil:
		return s.release()
	case s.uncounted():
		return s.count()
	case !s.Source.Deleting:
		return Step{Action: DeleteSet, Why: "it has no machines any more"}
	}
	return Step{Action: Wait, Why: "the source set is being deleted"}
}

func (s State) anySource() bool {
	return slices.ContainsFunc(s.Pairs, func(p Pair) bool { return p.Source != nil })
}

// release is the end of a migration: no Machine and no set of the source is left.
func (s State) release() Step {
	switch {
	case s.Target == nil:
		return Step{Action: Done, Why: "neither set exists"}
	case s.Target.Held && s.uncounted():
		return s.count()
	case s.Target.Held:
		return Step{Action: ReleaseTarget, Why: "all machines are migrated"}
	}
	return Step{Action: Done, Why: "all machines are migrated"}
}

// uncounted reports whether the controller of the new set has not counted all migrated machines yet: it would create others.
func (s State) uncounted() bool { return s.Target.Observed < min(s.Target.Replicas, s.migrated()) }

func (s State) count() Step {
	return Step{Action: Wait, Why: fmt.Sprintf("the controller of the new set counts %d of %d machines as ready", s.Target.Observed, s.migrated())}
}

// migrated returns the number of Machines of the other API.
func (s State) migrated() (n int32) {
	for _, p := range s.Pairs {
		if p.Target != nil {
			n++
		}
	}
	return n
}

// next returns the next step for one machine.
func (p Pair) next() Step {
	from, to := p.Source, p.Target
	switch {
	case from == nil:
		return Step{Action: Done}
	case to != nil && to.Deleting: // before any mark: the deletion may wait for this machine
		return Step{Action: Wait, Why: "the machine of the other API is being deleted"}
	case !from.Moved && from.Deleting:
		return Step{Action: Wait, Why: "it was deleted before its migration, and its instance is being terminated"}
	case !from.Moved:
		return Step{Action: MarkSource, Why: "from now on its controller leaves the instance alone"}
	case to == nil:
		return Step{Action: CreateMachine, Why: "it has the provider ID of instance " + from.ProviderID}
	case to.Moved:
		return Step{Action: UnmarkTarget, Why: "its controller takes the instance over again"}
	case !to.Recorded || !to.Running:
		return Step{Action: Wait, Why: "the controller of the new machine has not confirmed the instance and its node yet"}
	case !from.Deleting:
		return Step{Action: DeleteSource, Why: "the new machine has the instance"}
	}
	return Step{Action: Wait, Why: "the object of the source machine is being deleted"}
}

// Obstacles returns what prevents a migration from being started or continued, for users.
func Obstacles(s State) (out []string) {
	if s.Source != nil && s.Source.Deleting && s.anySource() {
		out = append(out, "the set is being deleted")
	}
	begun := s.Target != nil
	machines := 0
	for _, p := range s.Pairs {
		if p.Source == nil {
			continue
		}
		machines++
		if p.Source.Moved {
			continue
		}
		switch {
		case p.Source.Unfit != "":
			out = append(out, fmt.Sprintf("machine %s %s", p.Name, p.Source.Unfit))
		case p.Target != nil && provider.Tail(p.Target.ProviderID) != provider.Tail(p.Source.ProviderID):
			out = append(out, fmt.Sprintf("the other API has a machine %s with another instance", p.Name))
		}
	}
	if s.Source != nil && !begun && int(s.Source.Replicas) != machines {
		out = append(out, fmt.Sprintf("the set wants %d machines and has %d: wait until it has created or deleted machines", s.Source.Replicas, machines))
	}
	return out
}
