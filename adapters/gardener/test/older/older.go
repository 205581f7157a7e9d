// Package older runs a driver that was written against the oldest version of the original that drivers in use are built with,
// v0.49.1: its interface has no InitializeMachine, and its answers have no addresses. The module is built with that version.
package older

import (
	"context"
	"sync"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
)

// Shelf is a driver whose machines are entries of a map. It is safe for concurrent use.
type Shelf struct {
	mu  sync.Mutex
	all map[string]string
}

// NewShelf returns a driver as drivers do: as the interface of the original.
func NewShelf() driver.Driver { return &Shelf{all: map[string]string{}} }

func (s *Shelf) id(name string) string { return "shelf:///" + name }

// CreateMachine implements [driver.Driver].
func (s *Shelf) CreateMachine(_ context.Context, r *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[s.id(r.Machine.Name)] = r.Machine.Name
	return &driver.CreateMachineResponse{ProviderID: s.id(r.Machine.Name), NodeName: r.Machine.Name}, nil
}

// DeleteMachine implements [driver.Driver].
func (s *Shelf) DeleteMachine(_ context.Context, r *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, s.id(r.Machine.Name))
	return &driver.DeleteMachineResponse{}, nil
}

// GetMachineStatus implements [driver.Driver].
func (s *Shelf) GetMachineStatus(_ context.Context, r *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, there := s.all[s.id(r.Machine.Name)]
	if !there {
		return nil, status.Error(codes.NotFound, "there is no "+r.Machine.Name)
	}
	return &driver.GetMachineStatusResponse{ProviderID: s.id(name), NodeName: name}, nil
}

// ListMachines implements [driver.Driver].
func (s *Shelf) ListMachines(context.Context, *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &driver.ListMachinesResponse{MachineList: map[string]string{}}
	for id, name := range s.all {
		out.MachineList[id] = name
	}
	return out, nil
}

// GetVolumeIDs implements [driver.Driver].
func (s *Shelf) GetVolumeIDs(context.Context, *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error) {
	return &driver.GetVolumeIDsResponse{}, nil
}
