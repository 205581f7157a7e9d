package disruption

import (
	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Cause has the facts from which the cause of a disruption follows. No API has a field for the client that deleted a machine, and
// why; the state of the machine and of its owners shows it.
type Cause struct {
	// Update says that the machine is updated in place, Reboot that it is rebooted. Otherwise it was deleted.
	Update, Reboot bool
	// Interrupted says that the cloud has announced the end of the instance.
	Interrupted bool
	// Unwell says that the machine or its node is unhealthy.
	Unwell bool
	Owner  Owner
}

// Owner has the facts about the set that owns a machine, and about the set's deployment.
type Owner struct {
	// Looked says that the facts are known.
	Looked bool
	// Exists says that the machine has an owner and that it exists.
	Exists bool
	// Leaving says that the set, or its deployment, was deleted; Superseded that the deployment has a newer set.
	Leaving, Superseded bool
	// Wanted is the wanted number of machines, Active the number of machines that are not under deletion.
	Wanted, Active int
	// Successor says that the owner created a machine after the deletion: it replaces the deleted machine.
	Successor bool
}

// ReasonOf returns the cause of a disruption; empty if it cannot be known. For an unknown cause all limits hold.
func ReasonOf(c Cause) Reason {
	switch {
	case c.Reboot:
		return v1alpha1.ReasonReboot
	case c.Interrupted:
		return v1alpha1.ReasonInterruption
	case c.Update:
		return v1alpha1.ReasonRollout
	case c.Unwell:
		return v1alpha1.ReasonRemediation
	case !c.Owner.Looked:
		return ""
	}
	return c.Owner.reason()
}

// reason returns why a healthy machine was deleted. A set that deletes a machine has no fewer than it wants afterwards; after
// the deletion by another client it creates a successor.
func (o Owner) reason() Reason {
	switch {
	case !o.Exists:
		return v1alpha1.ReasonManual
	case o.Leaving:
		return v1alpha1.ReasonScaleDown
	case o.Superseded:
		return v1alpha1.ReasonRollout
	case o.Successor, o.Active < o.Wanted:
		return v1alpha1.ReasonManual
	}
	return v1alpha1.ReasonScaleDown
}
