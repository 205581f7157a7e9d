package gardener

import (
	"context"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
)

// OlderDriver is the interface that drivers had before v0.53.0 of the original, which added InitializeMachine, as far as it is
// called still: until v0.48.x it had GenerateMachineClassForMigration besides, which nothing calls any more. The
// types of requests and responses are the same in all versions.
type OlderDriver interface {
	CreateMachine(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error)
	DeleteMachine(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error)
	GetMachineStatus(context.Context, *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error)
	ListMachines(context.Context, *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error)
	GetVolumeIDs(context.Context, *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error)
}

// Completed is the driver with the call that it lacks: InitializeMachine is Unimplemented. One that has it stays as it is.
func Completed(d OlderDriver) driver.Driver {
	if whole, ok := d.(driver.Driver); ok {
		return whole
	}
	return completed{d}
}

type completed struct{ OlderDriver }

// InitializeMachine implements [driver.Driver].
func (completed) InitializeMachine(context.Context, *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error) {
	return nil, status.Error(codes.Unimplemented, "the driver was written before InitializeMachine")
}
