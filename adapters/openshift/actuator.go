package openshift

import (
	"context"

	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// Actuator is what out-of-tree providers of machine.openshift.io implement. Each call may patch the
// Machine in the API server; the object that it was given then is as it was stored.
type Actuator interface {
	// Create makes the machine's instance. It may be repeated after any error.
	Create(ctx context.Context, m *machinev1.Machine) error
	// Delete asks for the end of the instance. That it succeeds says that this was accepted; Exists
	// tells when it is done.
	Delete(ctx context.Context, m *machinev1.Machine) error
	// Update refreshes what the Machine says of its instance, and changes nothing there.
	Update(ctx context.Context, m *machinev1.Machine) error
	// Exists reports whether there is an instance. It may run behind Create.
	Exists(ctx context.Context, m *machinev1.Machine) (bool, error)
}
