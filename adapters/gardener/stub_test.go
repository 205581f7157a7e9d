package gardener_test

import (
	"context"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
)

// stub is a driver with the test's functions; other calls are not implemented.
type stub struct {
	create func(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error)
	finish func(context.Context, *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error)
	remove func(context.Context, *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error)
	status func(*driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error)
	list   func(*driver.ListMachinesRequest) (*driver.ListMachinesResponse, error)
}

var errUnimplemented = status.Error(codes.Unimplemented, "no such call")

func (s *stub) CreateMachine(ctx context.Context, r *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	if s.create == nil {
		return nil, errUnimplemented
	}
	return s.create(ctx, r)
}

func (s *stub) InitializeMachine(ctx context.Context, r *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error) {
	if s.finish == nil {
		return nil, errUnimplemented
	}
	return s.finish(ctx, r)
}

func (s *stub) DeleteMachine(ctx context.Context, r *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	if s.remove == nil {
		return nil, errUnimplemented
	}
	return s.remove(ctx, r)
}

func (s *stub) GetMachineStatus(_ context.Context, r *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
	if s.status == nil {
		return nil, errUnimplemented
	}
	return s.status(r)
}

func (s *stub) ListMachines(_ context.Context, r *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	if s.list == nil {
		return nil, errUnimplemented
	}
	return s.list(r)
}

func (s *stub) GetVolumeIDs(context.Context, *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error) {
	return nil, errUnimplemented
}
