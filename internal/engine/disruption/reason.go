package disruption

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Recorded is the cause that the machine recorded when the budgets refused it first; may be empty.
	Recorded Reason
	Owner    Owner
}

// Owner has the facts about the set that owns a machine, and about the set's deployment.
type Owner struct {
	State OwnerState
	// Wanted is the wanted number of machines, Active the number of machines that are not under deletion.
	Wanted, Active int
	// Successor says that the owner created a machine after the deletion: it replaces the deleted machine.
	Successor bool
}

// OwnerState is the state of the owner of a machine.
type OwnerState string

// The states of an owner.
const (
	// OwnerUnknown: the owner could not be read.
	OwnerUnknown OwnerState = ""
	// OwnerNone: the machine has no owner.
	OwnerNone OwnerState = "None"
	// OwnerLeaving: the set, or its deployment, was deleted.
	OwnerLeaving OwnerState = "Leaving"
	// OwnerSuperseded: the deployment has a newer set.
	OwnerSuperseded OwnerState = "Superseded"
	// OwnerCurrent: it keeps its machines.
	OwnerCurrent OwnerState = "Current"
)

// revision is the annotation of sets and deployments of both APIs with the number of their template.
const revision = "deployment.kubernetes.io/revision"

// StateOf returns the state of a set; nil: it does not exist. deployed says that a deployment controls it; a nil deployment does
// not exist.
func StateOf(set metav1.Object, deployed bool, deployment metav1.Object) OwnerState {
	switch {
	case set == nil || set.GetDeletionTimestamp() != nil:
		return OwnerLeaving
	case !deployed:
		return OwnerCurrent
	case deployment == nil || deployment.GetDeletionTimestamp() != nil:
		return OwnerLeaving
	case number(set) < number(deployment):
		return OwnerSuperseded
	}
	return OwnerCurrent
}

func number(o metav1.Object) int64 {
	n, _ := strconv.ParseInt(o.GetAnnotations()[revision], 10, 64)
	return n
}

// Count adds a machine of the set to the facts about a machine that was deleted at that time.
func (o *Owner) Count(machine metav1.Object, deleted time.Time) {
	if machine.GetDeletionTimestamp() == nil {
		o.Active++
		o.Successor = o.Successor || !machine.GetCreationTimestamp().Time.Before(deleted)
	}
}

// ReasonOf returns the cause of a disruption; empty if it cannot be known. For an unknown cause all limits hold. The present state
// of the machine precedes the recorded cause, and the recorded cause precedes the present state of the owners.
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
	case c.Recorded != "":
		return c.Recorded
	}
	return c.Owner.reason()
}

// reason returns why a healthy machine was deleted. A set that deletes a machine has no fewer than it wants afterwards; after
// the deletion by another client it creates a successor.
func (o Owner) reason() Reason {
	switch o.State {
	case OwnerUnknown:
		return ""
	case OwnerNone:
		return v1alpha1.ReasonManual
	case OwnerLeaving:
		return v1alpha1.ReasonScaleDown
	case OwnerSuperseded:
		return v1alpha1.ReasonRollout
	}
	if o.Successor || o.Active < o.Wanted {
		return v1alpha1.ReasonManual
	}
	return v1alpha1.ReasonScaleDown
}
