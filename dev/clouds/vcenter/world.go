package vcenter

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// world is govmomi's simulator, with events for the cases in which a vCenter differs from it.
type world struct {
	*schedule
	double.Capacity // of clusters and datastores
	model           *simulator.Model
	options         Options
	veil            unreadable

	mu      sync.Mutex
	clones  []types.CloneVM_Task
	cloning map[*types.CloneVM_Task]types.CloneVM_Task
	doomed  map[string]bool // instance UUIDs of virtual machines that will not start
	boots   map[types.ManagedObjectReference]int
}

func newWorld(clock *double.Clock, o Options, model *simulator.Model) *world {
	w := &world{
		schedule: &schedule{clock: clock}, model: model, options: o,
		cloning: map[*types.CloneVM_Task]types.CloneVM_Task{}, doomed: map[string]bool{}, boots: map[types.ManagedObjectReference]int{},
	}
	rooms := map[string]int{}
	for _, d := range o.Inventory.Datacenters {
		for _, cl := range d.Clusters {
			if cl.Room > 0 {
				rooms[cl.Name] = cl.Room
			}
		}
	}
	w.SetCapacity(rooms)
	return w
}

// own is a context outside of requests.
func (w *world) own() *simulator.Context {
	ctx := *w.model.Service.Context
	ctx.Context = context.Background()
	return &ctx
}

// note records requests for clones.
func (w *world) note(m *simulator.Method) {
	if req, ok := m.Body.(*types.CloneVM_Task); ok {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.clones = append(w.clones, *req)
	}
}

// running is the number of virtual machines that run in a cluster.
func (w *world) running(cluster string) (n int) {
	for _, e := range w.own().Map.All("VirtualMachine") {
		if vm := e.(*simulator.VirtualMachine); vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && w.clusterOf(vm) == cluster {
			n++
		}
	}
	return n
}

// clusterOf is the name of the cluster of a virtual machine.
func (w *world) clusterOf(vm *simulator.VirtualMachine) string {
	ctx := w.own()
	if vm.Runtime.Host == nil {
		return ""
	}
	host, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem)
	if !ok || host.Parent == nil {
		return ""
	}
	return ctx.Map.Get(*host.Parent).(mo.Entity).Entity().Name
}
