package openshift

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// Actuator is the interface of out-of-tree providers of machine.openshift.io. Each call may patch the Machine
// in the API server; then it also updates the object that it was given.
type Actuator interface {
	// Create creates the machine's instance. The caller may repeat it after any error.
	Create(ctx context.Context, m *machinev1.Machine) error
	// Delete requests the deletion of the instance. Success means that the request was accepted; Exists
	// reports when the instance is deleted.
	Delete(ctx context.Context, m *machinev1.Machine) error
	// Update refreshes the Machine's status of its instance, and does not change the instance.
	Update(ctx context.Context, m *machinev1.Machine) error
	// Exists reports whether the instance exists. It may lag behind Create.
	Exists(ctx context.Context, m *machinev1.Machine) (bool, error)
}
