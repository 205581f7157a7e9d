package vcenter

import (
	"maps"
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

func (w *world) onMachine(vm *simulator.VirtualMachine, m *simulator.Method) (*types.ManagedObjectReference, bool) {
	var ref types.ManagedObjectReference
	switch req := m.Body.(type) {
	case *types.CloneVM_Task:
		ref = w.beginClone(vm, req)
	case *types.PowerOnVM_Task:
		ref = w.begin(vm, "powerOn", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, w.powerOn(vm) })
	case *types.PowerOffVM_Task:
		ref = w.begin(vm, "powerOff", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, w.powerOff(vm) })
	case *types.ResetVM_Task:
		ref = w.begin(vm, "reset", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, w.reset(vm) })
	case *types.Destroy_Task:
		ref = w.begin(vm, "destroy", w.options.Delete, func() (types.AnyType, types.BaseMethodFault) { return nil, w.destroy(vm, req) })
	default:
		return nil, false
	}
	return &ref, true
}

// begin creates a task that runs when its delay is over.
func (w *world) begin(on mo.Reference, name string, after time.Duration, do func() (types.AnyType, types.BaseMethodFault)) types.ManagedObjectReference {
	ref, ctx := on.Reference(), w.own()
	t := &simulator.Task{}
	t.Info = types.TaskInfo{
		Name: strings.ToUpper(name[:1]) + name[1:] + "_Task", DescriptionId: ref.Type + "." + name, Entity: &ref, EntityName: ref.Value,
		State: types.TaskInfoStateRunning, QueueTime: w.now(), Cancelable: true, Reason: &types.TaskReasonUser{UserName: "double"},
	}
	ctx.Map.Put(t)
	t.Info.Key, t.Info.Task = t.Self.Value, t.Self
	w.after(after, func() {
		if t.Info.State != types.TaskInfoStateRunning { // canceled
			return
		}
		result, fault := do()
		end(w.own(), w.now(), t, result, fault)
	})
	return t.Self
}

func end(ctx *simulator.Context, at time.Time, t *simulator.Task, result types.AnyType, fault types.BaseMethodFault) {
	changes := []types.PropertyChange{{Name: "info.completeTime", Val: at}, {Name: "info.state", Val: types.TaskInfoStateSuccess}}
	if result != nil {
		changes = append(changes, types.PropertyChange{Name: "info.result", Val: result})
	}
	if fault != nil {
		changes[1].Val = types.TaskInfoStateError
		changes = append(changes, types.PropertyChange{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: localized(fault)}})
	}
	ctx.Map.AtomicUpdate(ctx, t, changes)
}

// localized is vCenter's text for a fault.
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

// inner waits for a task of govmomi's simulator and returns its result.
func inner(ctx *simulator.Context, body soap.HasFault, ref func() types.ManagedObjectReference) (types.AnyType, types.BaseMethodFault) {
	if f := body.Fault(); f != nil {
		if fault, ok := f.Detail.Fault.(types.BaseMethodFault); ok {
			return nil, fault
		}
		return nil, &types.RuntimeFault{}
	}
	info := await(ctx, ref())
	if info.Error != nil {
		return nil, info.Error.Fault
	}
	return info.Result, nil
}

// await waits for a task of govmomi's simulator, which ends within a millisecond: its own Wait sleeps for
// ten, and a property collector for twenty.
func await(ctx *simulator.Context, ref types.ManagedObjectReference) (info types.TaskInfo) {
	t := ctx.Map.Get(ref).(*simulator.Task)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		ctx.Map.WithLock(&simulator.Context{}, t, func() { info = t.Info })
		if info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError {
			return info
		}
		time.Sleep(pause)
	}
}

// beginClone clones after a delay, fails without capacity, and does what govmomi's simulator does not do. A real vCenter reserves
// the name at once. Here the second of two clones fails with the same error, but only when the first one ends.
func (w *world) beginClone(template *simulator.VirtualMachine, req *types.CloneVM_Task) types.ManagedObjectReference {
	w.mu.Lock()
	w.cloning[req] = *req
	w.mu.Unlock()
	return w.begin(template, "clone", w.options.Clone, func() (types.AnyType, types.BaseMethodFault) {
		defer w.cloned(req)
		return w.clone(template, req)
	})
}

func (w *world) cloned(req *types.CloneVM_Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.cloning, req)
}

func (w *world) clone(template *simulator.VirtualMachine, req *types.CloneVM_Task) (types.AnyType, types.BaseMethodFault) {
	ctx := w.own()
	if ds := req.Spec.Location.Datastore; ds != nil {
		if name := ctx.Map.Get(*ds).(mo.Entity).Entity().Name; w.Lacks(name) {
			return nil, &types.NoDiskSpace{Datastore: name}
		}
	}
	placed := *req
	placed.Spec.Location.Host = hostFor(ctx, template, req.Spec.Location)
	if req.Spec.Config != nil {
		config := *req.Spec.Config
		config.ExtraConfig = nil // the simulator shares them, and does not copy the template's
		placed.Spec.Config = &config
	}
	body := template.CloneVMTask(ctx, &placed)
	result, fault := inner(w.own(), body, func() types.ManagedObjectReference { return body.(*methods.CloneVM_TaskBody).Res.Returnval })
	if fault != nil {
		return nil, fault
	}
	made := result.(types.ManagedObjectReference)
	w.complete(template, ctx.Map.Get(made).(*simulator.VirtualMachine), req.Spec.Config)
	return made, nil
}

// hostFor is a host in the cluster of a clone's pool; the simulator would use the template's host.
func hostFor(ctx *simulator.Context, template *simulator.VirtualMachine, at types.VirtualMachineRelocateSpec) *types.ManagedObjectReference {
	if at.Host != nil || at.Pool == nil {
		return at.Host
	}
	pool, ok := ctx.Map.Get(*at.Pool).(*simulator.ResourcePool)
	if !ok {
		return nil
	}
	cluster, ok := ctx.Map.Get(pool.Owner).(*simulator.ClusterComputeResource)
	if !ok || len(cluster.Host) == 0 || slices.Contains(cluster.Host, *template.Runtime.Host) {
		return nil
	}
	return &cluster.Host[0]
}

// complete sets the parts of a clone's configuration that the simulator leaves out. If a virtual machine already has the
// requested instance UUID, the clone gets another one, as the property's documentation says.
func (w *world) complete(template, vm *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) {
	ctx := w.own()
	rest := types.VirtualMachineConfigSpec{}
	if config != nil {
		rest = types.VirtualMachineConfigSpec{
			Annotation: config.Annotation, NumCoresPerSocket: config.NumCoresPerSocket, Flags: config.Flags, GuestId: config.GuestId,
			MemoryReservationLockedToMax: config.MemoryReservationLockedToMax, VAppConfig: config.VAppConfig,
		}
	}
	now := w.now()
	ctx.WithLock(vm, func() {
		vm.Config.ExtraConfig = inherited(template.Config.ExtraConfig, config)
		ownFiles(template, vm)
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
	_, _ = inner(w.own(), body, func() types.ManagedObjectReference { return body.(*methods.ReconfigVM_TaskBody).Res.Returnval })
}

// ownFiles gives the disks of a clone their own files if the request has changed the template's disks: a vCenter
// ignores the file names in the request.
func ownFiles(template, vm *simulator.VirtualMachine) {
	shared := map[string]bool{}
	for _, f := range filesOf(template) {
		shared[f.FileName] = true
	}
	for _, f := range filesOf(vm) {
		if shared[f.FileName] {
			f.FileName = strings.TrimSuffix(vm.Config.Files.VmPathName, ".vmx") + ".vmdk"
		}
	}
}

// filesOf are the files of a virtual machine's disks.
func filesOf(vm *simulator.VirtualMachine) (all []*types.VirtualDeviceFileBackingInfo) {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			if f, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				all = append(all, f.GetVirtualDeviceFileBackingInfo())
			}
		}
	}
	return all
}

// inherited are the options of a clone: the template's options, changed by the request. An empty value removes an
// option.
func inherited(options []types.BaseOptionValue, config *types.VirtualMachineConfigSpec) (all []types.BaseOptionValue) {
	values := map[string]any{}
	for _, o := range options {
		values[o.GetOptionValue().Key] = o.GetOptionValue().Value
	}
	if config != nil {
		for _, o := range config.ExtraConfig {
			values[o.GetOptionValue().Key] = o.GetOptionValue().Value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if values[key] != "" {
			all = append(all, &types.OptionValue{Key: key, Value: values[key]})
		}
	}
	return all
}

func (w *world) reset(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOn, ExistingState: vm.Runtime.PowerState}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.boots[vm.Self]++
	return nil
}

func (w *world) destroy(vm *simulator.VirtualMachine, req *types.Destroy_Task) types.BaseMethodFault {
	ctx := w.own()
	if ctx.Map.Get(vm.Self) == nil {
		return &types.ManagedObjectNotFound{Obj: vm.Self}
	}
	for _, other := range ctx.Map.All("ClusterComputeResource") {
		ungroup(ctx, other.(*simulator.ClusterComputeResource), vm.Self)
	}
	body := vm.DestroyTask(ctx, req)
	_, fault := inner(w.own(), body, func() types.ManagedObjectReference { return body.(*methods.Destroy_TaskBody).Res.Returnval })
	return fault
}

// reconfigure changes a cluster after a delay, to the state of the request.
func reconfigure(w *world, cluster *simulator.ClusterComputeResource, req *types.ReconfigureComputeResource_Task) types.ManagedObjectReference {
	return w.begin(cluster, "reconfigure", w.options.Regroup, func() (types.AnyType, types.BaseMethodFault) {
		body := cluster.ReconfigureComputeResourceTask(w.own(), req)
		return inner(w.own(), body, func() types.ManagedObjectReference {
			return body.(*methods.ReconfigureComputeResource_TaskBody).Res.Returnval
		})
	})
}

// ungroup removes deleted virtual machines from the groups of a cluster.
func ungroup(ctx *simulator.Context, cluster *simulator.ClusterComputeResource, vm types.ManagedObjectReference) {
	ctx.WithLock(cluster, func() {
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

// powerOnMulti reports for each virtual machine whether DRS has found a host for it. A virtual machine without a host is not
// powered on, but the task itself succeeds.
func (w *world) powerOnMulti(dc *simulator.Datacenter, req *types.PowerOnMultiVM_Task) types.ManagedObjectReference {
	return w.begin(dc, "powerOnMultiVM", 0, func() (types.AnyType, types.BaseMethodFault) {
		result := types.ClusterPowerOnVmResult{}
		for _, vm := range req.Vm {
			w.place(vm, &result)
		}
		return result, nil
	})
}

func (w *world) place(ref types.ManagedObjectReference, result *types.ClusterPowerOnVmResult) {
	vm, ok := w.own().Map.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	if fault := w.noRoom(vm); fault != nil {
		result.NotAttempted = append(result.NotAttempted, types.ClusterNotAttemptedVmInfo{
			Vm: ref, Fault: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: localized(fault)},
		})
		return
	}
	task := w.begin(vm, "powerOn", 0, func() (types.AnyType, types.BaseMethodFault) { return nil, w.powerOn(vm) })
	result.Attempted = append(result.Attempted, types.ClusterAttemptedVmInfo{Vm: ref, Task: &task})
}

// noRoom is the reason for which a virtual machine cannot be placed; nil if it can.
func (w *world) noRoom(vm *simulator.VirtualMachine) types.BaseMethodFault {
	cluster := w.clusterOf(vm)
	w.mu.Lock()
	doomed := w.doomed[vm.Config.InstanceUuid]
	w.mu.Unlock()
	if doomed || w.Full(map[string]int{cluster: w.running(cluster)}, cluster) {
		return &types.InsufficientResourcesFault{}
	}
	return nil
}

func (w *world) powerOn(vm *simulator.VirtualMachine) types.BaseMethodFault {
	if fault := w.noRoom(vm); fault != nil && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return fault
	}
	body := vm.PowerOnVMTask(w.own(), &types.PowerOnVM_Task{This: vm.Self})
	_, fault := inner(w.own(), body, func() types.ManagedObjectReference { return body.(*methods.PowerOnVM_TaskBody).Res.Returnval })
	if fault == nil {
		w.mu.Lock()
		w.boots[vm.Self]++
		w.mu.Unlock()
		w.after(w.options.Boot, func() { guestUp(w.own(), vm) })
	}
	return fault
}

func (w *world) powerOff(vm *simulator.VirtualMachine) types.BaseMethodFault {
	body := vm.PowerOffVMTask(w.own(), &types.PowerOffVM_Task{This: vm.Self})
	_, fault := inner(w.own(), body, func() types.ManagedObjectReference { return body.(*methods.PowerOffVM_TaskBody).Res.Returnval })
	if fault == nil {
		guestDown(w.own(), vm)
	}
	return fault
}
