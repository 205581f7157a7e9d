package vcenter

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// instead does what the simulator does otherwise; it reports false for everything else. It is done in place of
// the simulator's methods rather than by them, since its sessions know no other objects than its own.
func (c *Cloud) instead(m *simulator.Method) (returned *types.ManagedObjectReference, ok bool) {
	switch o := c.own().Map.Get(m.This).(type) {
	case *simulator.VirtualMachine:
		return c.onMachine(o, m)
	case *simulator.Datacenter:
		if req, ok := m.Body.(*types.PowerOnMultiVM_Task); ok {
			ref := c.powerOnMulti(o, req)
			return &ref, true
		}
	case *simulator.SearchIndex:
		if c.options.AcceptAny {
			return c.findAny(o, m)
		}
	}
	return nil, false
}

func (c *Cloud) onMachine(vm *simulator.VirtualMachine, m *simulator.Method) (*types.ManagedObjectReference, bool) {
	var ref types.ManagedObjectReference
	switch req := m.Body.(type) {
	case *types.CloneVM_Task:
		ref = c.beginClone(vm, req)
	case *types.PowerOnVM_Task:
		ref = c.begin(vm, "powerOn", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, c.powerOn(vm) })
	case *types.PowerOffVM_Task:
		ref = c.begin(vm, "powerOff", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, c.powerOff(vm) })
	case *types.ResetVM_Task:
		ref = c.begin(vm, "reset", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, c.reset(vm) })
	case *types.Destroy_Task:
		ref = c.begin(vm, "destroy", c.options.Delete, func() (types.AnyType, types.BaseMethodFault) { return nil, c.destroy(vm, req) })
	default:
		return nil, false
	}
	return &ref, true
}

// own is a context that is not that of a request.
func (c *Cloud) own() *simulator.Context {
	ctx := *c.model.Service.Context
	ctx.Context = context.Background()
	return &ctx
}

// begin makes a task that is carried out when its time has come.
func (c *Cloud) begin(on mo.Reference, name string, after time.Duration, do func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	ref, ctx := on.Reference(), c.own()
	t := &simulator.Task{}
	t.Info = types.TaskInfo{
		Name: strings.ToUpper(name[:1]) + name[1:] + "_Task", DescriptionId: ref.Type + "." + name, Entity: &ref, EntityName: ref.Value,
		State: types.TaskInfoStateRunning, QueueTime: c.clock.Now(), Cancelable: true, Reason: &types.TaskReasonUser{UserName: "double"},
	}
	ctx.Map.Put(t)
	t.Info.Key, t.Info.Task = t.Self.Value, t.Self
	c.at(c.clock.Now().Add(after), func() {
		if t.Info.State != types.TaskInfoStateRunning { // cancelled
			return
		}
		result, fault := do()
		c.end(t, result, fault)
	})
	return t.Self
}

func (c *Cloud) end(t *simulator.Task, result types.AnyType, fault types.BaseMethodFault) {
	changes := []types.PropertyChange{{Name: "info.completeTime", Val: c.clock.Now()}, {Name: "info.state", Val: types.TaskInfoStateSuccess}}
	if result != nil {
		changes = append(changes, types.PropertyChange{Name: "info.result", Val: result})
	}
	if fault != nil {
		changes[1].Val = types.TaskInfoStateError
		changes = append(changes, types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: localized(fault)}})
	}
	ctx := c.own()
	ctx.Map.AtomicUpdate(ctx, t, changes)
}

// localized is the text that a vCenter has for a fault.
func localized(fault types.BaseMethodFault) string {
	switch f := fault.(type) {
	case *types.DuplicateName:
		return "The name '" + f.Name + "' already exists."
	case *types.NoDiskSpace:
		return "Insufficient disk space on datastore '" + f.Datastore + "'."
	case *types.InsufficientResourcesFault:
		return "The operation cannot be allowed at the current time because the cluster has insufficient resources."
	case *types.InvalidPowerState:
		return "The attempted operation cannot be performed in the current state (" + string(f.ExistingState) + ")."
	}
	return "The operation failed."
}

// inner waits for a task of the simulator and returns what came of it.
func (c *Cloud) inner(body soap.HasFault, ref func() types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	if f := body.Fault(); f != nil {
		if fault, ok := f.Detail.Fault.(types.BaseMethodFault); ok {
			return nil, fault
		}
		return nil, &types.RuntimeFault{}
	}
	t := c.own().Map.Get(ref()).(*simulator.Task)
	t.Wait()
	if t.Info.Error != nil {
		return nil, t.Info.Error.Fault
	}
	return t.Info.Result, nil
}

// beginClone takes its time, fails for want of room, and heeds what the simulator does not. A real vCenter
// takes up the name at once; here the second of two clones fails with the first one's end, alike.
func (c *Cloud) beginClone(template *simulator.VirtualMachine, req *types.CloneVM_Task) types.ManagedObjectReference {
	c.mu.Lock()
	c.state.clones = append(c.state.clones, *req)
	c.mu.Unlock()
	return c.begin(template, "clone", c.options.Clone, func() (types.AnyType, types.BaseMethodFault) { return c.clone(template, req) })
}

func (c *Cloud) clone(template *simulator.VirtualMachine, req *types.CloneVM_Task) (types.AnyType, types.BaseMethodFault) {
	ctx := c.own()
	if ds := req.Spec.Location.Datastore; ds != nil {
		if name := ctx.Map.Get(*ds).(mo.Entity).Entity().Name; c.isFull(name) {
			return nil, &types.NoDiskSpace{Datastore: name}
		}
	}
	body := template.CloneVMTask(ctx, req)
	result, fault := c.inner(body, func() types.ManagedObjectReference { return body.(*methods.CloneVM_TaskBody).Res.Returnval })
	if fault != nil {
		return nil, fault
	}
	made := result.(types.ManagedObjectReference)
	c.complete(template, ctx.Map.Get(made).(*simulator.VirtualMachine), req.Spec.Config)
	return made, nil
}

// complete gives a clone what the simulator left out of its configuration, and another instance UUID if there
// is one with it: that of the property's documentation.
func (c *Cloud) complete(template, vm *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) {
	ctx := c.own()
	rest := types.VirtualMachineConfigSpec{}
	if config != nil {
		rest = types.VirtualMachineConfigSpec{
			Annotation: config.Annotation, NumCoresPerSocket: config.NumCoresPerSocket, Flags: config.Flags, GuestId: config.GuestId,
			MemoryReservationLockedToMax: config.MemoryReservationLockedToMax, VAppConfig: config.VAppConfig,
		}
	}
	now := c.clock.Now()
	ctx.WithLock(vm, func() {
		vm.Config.CreateDate = &now
		vm.Config.VAppConfig = nil
		if from, ok := template.Config.VAppConfig.(*types.VmConfigInfo); ok {
			own := *from
			own.Property = slices.Clone(from.Property)
			vm.Config.VAppConfig = &own
		}
	})
	for _, other := range ctx.Map.All("VirtualMachine") {
		if o := other.(*simulator.VirtualMachine); o.Self != vm.Self && o.Config.InstanceUuid == vm.Config.InstanceUuid {
			rest.InstanceUuid = uuid.NewString()
		}
	}
	body := vm.ReconfigVMTask(ctx, &types.ReconfigVM_Task{This: vm.Self, Spec: rest})
	_, _ = c.inner(body, func() types.ManagedObjectReference { return body.(*methods.ReconfigVM_TaskBody).Res.Returnval })
}

func (c *Cloud) reset(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState}
	}
	c.booted(vm.Self)
	return nil
}

func (c *Cloud) destroy(vm *simulator.VirtualMachine, req *types.Destroy_Task) types.BaseMethodFault {
	ctx := c.own()
	if ctx.Map.Get(vm.Self) == nil {
		return &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	for _, other := range ctx.Map.All("ClusterComputeResource") {
		c.ungroup(other.(*simulator.ClusterComputeResource), vm.Self)
	}
	body := vm.DestroyTask(ctx, req)
	_, fault := c.inner(body, func() types.ManagedObjectReference { return body.(*methods.Destroy_TaskBody).Res.Returnval })
	return fault
}

// ungroup takes what is gone out of the groups of a cluster.
func (c *Cloud) ungroup(cluster *simulator.ClusterComputeResource, vm types.ManagedObjectReference) {
	c.own().WithLock(cluster, func() {
		config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
		if !ok {
			return
		}
		for _, g := range config.Group {
			if group, ok := g.(*types.ClusterVmGroup); ok {
				group.Vm = slices.DeleteFunc(slices.Clone(group.Vm), func(r types.ManagedObjectReference) bool { return r == vm })
			}
		}
	})
}

// powerOnMulti tells of each virtual machine whether DRS has found a host for it. What it has found none for was
// not attempted, and the task itself succeeds.
func (c *Cloud) powerOnMulti(dc *simulator.Datacenter, req *types.PowerOnMultiVM_Task) types.ManagedObjectReference {
	return c.begin(dc, "powerOnMultiVM", 0, func() (types.AnyType, types.BaseMethodFault) {
		result := types.ClusterPowerOnVmResult{}
		for _, vm := range req.Vm {
			c.place(vm, &result)
		}
		return result, nil
	})
}

func (c *Cloud) place(ref types.ManagedObjectReference, result *types.ClusterPowerOnVmResult) {
	vm, ok := c.own().Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	if fault := c.noRoom(vm); fault != nil {
		result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
			Vm: ref, Fault: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: localized(fault)},
		})
		return
	}
	task := c.begin(vm, "powerOn", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, c.powerOn(vm) })
	result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref, Task: &task})
}

// noRoom is why a virtual machine cannot be placed; nil if it can.
func (c *Cloud) noRoom(vm *simulator.VirtualMachine) types.BaseMethodFault {
	cluster := c.clusterOf(vm)
	c.mu.Lock()
	doomed := c.state.doomed[vm.Config.InstanceUuid]
	c.mu.Unlock()
	if doomed || c.isFull(cluster) || c.crowded(cluster) {
		return &types.InsufficientResourcesFault{}
	}
	return nil
}

func (c *Cloud) isFull(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.full[name]
}

// crowded reports whether as many run in a cluster as there is room for.
func (c *Cloud) crowded(cluster string) bool {
	room := 0
	for _, d := range c.options.Inventory.Datacenters {
		for _, cl := range d.Clusters {
			if cl.Name == cluster {
				room = cl.Room
			}
		}
	}
	if room == 0 {
		return false
	}
	running := 0
	for _, e := range c.own().Map.All("VirtualMachine") {
		if vm := e.(*simulator.VirtualMachine); vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && c.clusterOf(vm) == cluster {
			running++
		}
	}
	return running >= room
}

// clusterOf is the name of the cluster of a virtual machine.
func (c *Cloud) clusterOf(vm *simulator.VirtualMachine) string {
	ctx := c.own()
	if vm.Runtime.Host == nil {
		return ""
	}
	host, ok := ctx.Map.Get(*vm.Runtime.Host).(*simulator.HostSystem)
	if !ok || host.Parent == nil {
		return ""
	}
	return ctx.Map.Get(*host.Parent).(mo.Entity).Entity().Name
}

func (c *Cloud) powerOn(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if fault := c.noRoom(vm); fault != nil && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return fault
	}
	body := vm.PowerOnVMTask(c.own(), &types.PowerOnVM_Task{This: vm.Self})
	_, fault := c.inner(body, func() types.ManagedObjectReference { return body.(*methods.PowerOnVM_TaskBody).Res.Returnval })
	if fault == nil {
		c.booted(vm.Self)
		c.at(c.clock.Now().Add(c.options.Boot), func() { c.guestUp(vm) })
	}
	return fault
}

func (c *Cloud) booted(vm types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.boots[vm]++
}

func (c *Cloud) powerOff(vm *simulator.VirtualMachine) types.BaseMethodFault {
	body := vm.PowerOffVMTask(c.own(), &types.PowerOffVM_Task{This: vm.Self})
	_, fault := c.inner(body, func() types.ManagedObjectReference { return body.(*methods.PowerOffVM_TaskBody).Res.Returnval })
	if fault == nil {
		c.guestDown(vm)
	}
	return fault
}
