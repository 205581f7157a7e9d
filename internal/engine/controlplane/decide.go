package controlplane

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Step is what the controller does about one index.
type Step string

// The steps.
const (
	Keep   Step = "Keep"   // the index is as wanted
	Wait   Step = "Wait"   // for another client, or for another index
	Create Step = "Create" // a machine of the index
	Delete Step = "Delete" // the machine that the decision names
)

// Reason says why an index has its step.
type Reason string

// The reasons.
const (
	UpToDate           Reason = "UpToDate"           // Keep: one ready machine, as the template
	Missing            Reason = "Missing"            // Create: the index has no machine
	Replacing          Reason = "Replacing"          // Create: the machine of the index is outdated or under deletion
	Replaced           Reason = "Replaced"           // Delete: the replacement is ready
	Surplus            Reason = "Surplus"            // Delete: two machines are ready and as the template
	Superseded         Reason = "Superseded"         // Delete: the template changed during a replacement, and both machines are outdated
	WaitForReady       Reason = "WaitForReady"       // Wait: until the new machine is ready
	ReplacementFailed  Reason = "ReplacementFailed"  // Wait: until a user or a health check deletes the failed new machine
	WaitForRemoval     Reason = "WaitForRemoval"     // Wait: until the old machine does not exist
	WaitForOtherIndex  Reason = "WaitForOtherIndex"  // Wait: until another index is finished
	WaitForUser        Reason = "WaitForUser"        // Wait: until a user deletes the outdated machine
	WaitForStrategy    Reason = "WaitForStrategy"    // Wait: the strategy is not supported
	WaitForActivation  Reason = "WaitForActivation"  // Wait: the set is not active
	WaitForDegradation Reason = "WaitForDegradation" // Wait: until the set is not degraded
)

// Decision is the step of one index.
type Decision struct {
	Index  int32
	Step   Step
	Reason Reason
	// Machine is the machine to delete, or the machine that is awaited; empty: none.
	Machine string
}

// Plan is the result of one pass. The controller stores the status before it carries out the steps.
type Plan struct {
	Status    Status
	Decisions []Decision // by ascending index
}

// maxSurge is how many machines may exist in addition to the replicas when a rolling update creates one. It is not configurable.
const maxSurge = 1

// Decide returns the status of a set and the step of each index. The result does not depend on the order of s.Machines.
func Decide(s Set) Plan {
	indexes := byIndex(s)
	p := Plan{Status: statusOf(s, indexes)}
	refusal := Reason("")
	switch {
	case p.Status.degraded():
		refusal = WaitForDegradation
	case !s.Active:
		refusal = WaitForActivation
	case s.Strategy != RollingUpdate && s.Strategy != OnDelete:
		refusal = WaitForStrategy
	}
	d := decider{indexes: indexes, surge: int32(len(s.Machines)) - s.Replicas, rolling: s.Strategy == RollingUpdate}
	steps := map[int32]Decision{}
	for _, index := range d.order() {
		steps[index] = d.decide(index)
		if refusal != "" && steps[index].Step != Keep {
			steps[index] = Decision{Step: Wait, Reason: refusal}
		}
	}
	for _, index := range slices.Sorted(maps.Keys(steps)) {
		step := steps[index]
		step.Index = index
		p.Decisions = append(p.Decisions, step)
	}
	return p
}

// byIndex returns the machines of each index, the oldest first. Indexes without machines are added from 0 upwards until there are as many
// indexes as replicas.
func byIndex(s Set) map[int32][]Machine {
	out := map[int32][]Machine{}
	for _, m := range s.Machines {
		out[m.Index] = append(out[m.Index], m)
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b Machine) int {
			if a.older(b) {
				return -1
			}
			return 1
		})
	}
	for index := int32(0); int32(len(out)) < s.Replicas; index++ {
		if _, has := out[index]; !has {
			out[index] = nil
		}
	}
	return out
}

// decider decides about the indexes one after the other, and remembers the steps that the next indexes depend on.
type decider struct {
	indexes map[int32][]Machine
	// surge is the number of machines in addition to the replicas, with those that this pass creates.
	surge   int32
	rolling bool
	// deletes: this pass deletes a machine.
	deletes bool
}

// order returns the indexes in the order of the decisions: those without a machine first, because a replacement of another index
// would use their place.
func (d *decider) order() []int32 {
	return slices.SortedFunc(maps.Keys(d.indexes), func(a, b int32) int {
		return cmp.Or(cmp.Compare(min(1, len(d.indexes[a])), min(1, len(d.indexes[b]))), cmp.Compare(a, b))
	})
}

func (d *decider) decide(index int32) Decision {
	machines := d.indexes[index]
	var deleting, outdated, pending, current []Machine
	for _, m := range machines {
		switch {
		case m.Deleting:
			deleting = append(deleting, m)
		case m.Outdated:
			outdated = append(outdated, m)
		case m.pending():
			pending = append(pending, m)
		default:
			current = append(current, m)
		}
	}
	switch {
	case len(machines) == 0:
		return d.create(Missing)
	case len(current) > 0 && len(deleting) > 0:
		return Decision{Step: Wait, Reason: WaitForRemoval, Machine: deleting[0].Name}
	case len(current) > 0 && len(outdated) > 0:
		return d.delete(index, first(outdated), Replaced)
	case len(current) > 1:
		return d.delete(index, current[0], Surplus)
	case len(pending) > 0:
		return waitFor(pending)
	case len(current) > 0:
		return Decision{Step: Keep, Reason: UpToDate}
	case !d.rolling && len(outdated) > 0:
		return Decision{Step: Wait, Reason: WaitForUser, Machine: outdated[0].Name}
	case len(outdated) > 1 && d.surge >= maxSurge:
		return d.supersede(index, outdated)
	}
	return d.create(Replacing)
}

// supersede frees the place of one of several outdated machines of an index, which its last replacement needs. One that is ready stays. The
// replaced operator deletes only unready machines here, and would wait without end for a ready one.
func (d *decider) supersede(index int32, outdated []Machine) Decision {
	ready := 0
	for _, m := range outdated {
		if m.Ready {
			ready++
		}
	}
	if ready == 0 {
		return Decision{Step: Wait, Reason: WaitForUser, Machine: outdated[len(outdated)-1].Name}
	}
	return d.delete(index, first(outdated), Superseded)
}

// waitFor returns the decision while new machines are not ready.
func waitFor(pending []Machine) Decision {
	for _, m := range pending {
		if m.Failure != "" {
			return Decision{Step: Wait, Reason: ReplacementFailed, Machine: m.Name}
		}
	}
	return Decision{Step: Wait, Reason: WaitForReady, Machine: pending[0].Name}
}

// first returns the machine to delete first: one that is not ready, then the oldest one.
func first(outdated []Machine) Machine {
	if i := slices.IndexFunc(outdated, func(m Machine) bool { return !m.Ready }); i >= 0 {
		return outdated[i]
	}
	return outdated[0]
}

// create creates a machine, if the surge permits it.
func (d *decider) create(why Reason) Decision {
	if d.rolling && d.surge >= maxSurge {
		return Decision{Step: Wait, Reason: WaitForOtherIndex}
	}
	d.surge++
	return Decision{Step: Create, Reason: why}
}

// delete deletes a machine that has a ready replacement. It waits while the old machine of another index is being removed: etcd then
// loses one member at a time.
func (d *decider) delete(index int32, m Machine, why Reason) Decision {
	if !d.rolling {
		return Decision{Step: Wait, Reason: WaitForUser, Machine: m.Name}
	}
	if d.deletes || d.removing(index) {
		return Decision{Step: Wait, Reason: WaitForOtherIndex, Machine: m.Name}
	}
	d.deletes = true
	return Decision{Step: Delete, Reason: why, Machine: m.Name}
}

// removing reports whether another index has a machine under deletion beside its ready replacement. A machine under deletion without
// a replacement does not count: its replacement may need the place of the machine that this pass deletes.
func (d *decider) removing(except int32) bool {
	for index, machines := range d.indexes {
		if index == except || !slices.ContainsFunc(machines, Machine.current) {
			continue
		}
		if slices.ContainsFunc(machines, func(m Machine) bool { return m.Deleting }) {
			return true
		}
	}
	return false
}

// PollPeriod is how often a set with an unfinished index is reconciled without an event, as in the replaced operator.
const PollPeriod = 5 * time.Second
