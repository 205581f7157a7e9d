package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Machine is a virtual machine as it is.
type Machine struct {
	Ref              types.ManagedObjectReference
	Name, Folder     string
	UUID, InstanceID string
	State            types.VirtualMachinePowerState
	Template         bool
	Extra            map[string]string
	Attributes       map[string]string
	Tags             []string
	Config           types.VirtualMachineConfigInfo
	Datastore        string
	Cluster          string
}

// Machines are all that there are but templates, by name and instance UUID.
func (c *Cloud) Machines() (all []Machine) {
	c.settle()
	ctx, tagged := c.own(), c.tagged()
	for _, e := range ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		ctx.WithLock(vm, func() {
			if vm.Config.Template {
				return
			}
			m := Machine{
				Ref: vm.Self, Name: vm.Name, UUID: vm.Config.Uuid, InstanceID: vm.Config.InstanceUuid, State: vm.Runtime.PowerState,
				Extra: extraConfig(vm), Attributes: c.attributes(vm), Tags: tagged[vm.Self], Config: *vm.Config, Cluster: c.clusterOf(vm),
			}
			m.Folder = ctx.Map.Get(*vm.Parent).(mo.Entity).Entity().Name
			m.Datastore = strings.Trim(strings.SplitN(vm.Config.Files.VmPathName, "]", 2)[0], "[")
			all = append(all, m)
		})
	}
	slices.SortFunc(all, func(a, b Machine) int { return strings.Compare(a.Name+a.InstanceID, b.Name+b.InstanceID) })
	return all
}

func (c *Cloud) attributes(vm *simulator.VirtualMachine) map[string]string {
	names := map[int32]string{}
	for _, f := range c.own().Map.CustomFieldsManager().Field {
		names[f.Key] = f.Name
	}
	all := map[string]string{}
	for _, v := range vm.CustomValue {
		if s, ok := v.(*types.CustomFieldStringValue); ok {
			all[names[s.Key]] = s.Value
		}
	}
	return all
}

// tagged are the names of tags by what they are attached to.
func (c *Cloud) tagged() map[types.ManagedObjectReference][]string {
	ctx, m := context.Background(), tags.NewManager(c.rest)
	all := map[types.ManagedObjectReference][]string{}
	list, err := m.GetTags(ctx)
	if err != nil {
		return all
	}
	for _, t := range list {
		on, err := m.ListAttachedObjects(ctx, t.ID)
		if err != nil {
			continue
		}
		for _, o := range on {
			all[o.Reference()] = append(all[o.Reference()], t.Name)
		}
	}
	return all
}

// TagID is that of a tag; empty if there is none.
func (c *Cloud) TagID(category, name string) string {
	t, err := tags.NewManager(c.rest).GetTagForCategory(context.Background(), name, category)
	if err != nil {
		return ""
	}
	return t.ID
}

// Clones are the requests for clones that were accepted, first to last.
func (c *Cloud) Clones() []types.CloneVM_Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.clones)
}

// Plant is what somebody else makes.
type Plant struct {
	// Folder and Template are inventory paths; a folder that is not there is made.
	Name, Folder, Template string
	InstanceID             string
	Extra, Attributes      map[string]string
	Tags                   []string // IDs
}

// Plant makes a virtual machine that runs.
func (c *Cloud) Plant(p Plant) (Machine, error) {
	ctx := context.Background()
	folder, err := c.folder(ctx, p.Folder)
	if err != nil {
		return Machine{}, err
	}
	template, err := c.find(ctx, p.Template)
	if err != nil || template == nil {
		return Machine{}, fmt.Errorf("there is no template %s: %w", p.Template, err)
	}
	vm := c.own().Map.Get(*template).(*simulator.VirtualMachine)
	host := c.own().Map.Get(*vm.Runtime.Host).(*simulator.HostSystem)
	pool := c.own().Map.Get(*host.Parent).(*simulator.ClusterComputeResource).ResourcePool
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: pool}, Config: &types.VirtualMachineConfigSpec{InstanceUuid: p.InstanceID}}
	for k, v := range p.Extra {
		spec.Config.ExtraConfig = append(spec.Config.ExtraConfig, &types.OptionValue{Key: k, Value: v})
	}
	made, fault := c.clone(vm, &types.CloneVM_Task{This: *template, Folder: *folder, Name: p.Name, Spec: spec})
	if fault != nil {
		return Machine{}, errors.New(localized(fault))
	}
	ref := made.(types.ManagedObjectReference)
	if err := c.mark(ctx, ref, p); err != nil {
		return Machine{}, err
	}
	if fault := c.powerOn(c.own().Map.Get(ref).(*simulator.VirtualMachine)); fault != nil {
		return Machine{}, errors.New(localized(fault))
	}
	for _, m := range c.Machines() {
		if m.Ref == ref {
			return m, nil
		}
	}
	return Machine{}, errors.New("it is gone")
}

func (c *Cloud) mark(ctx context.Context, ref types.ManagedObjectReference, p Plant) error {
	fields, err := object.GetCustomFieldsManager(c.vim)
	if err != nil {
		return err
	}
	for k, v := range p.Attributes {
		key, err := fields.FindKey(ctx, k)
		if err != nil {
			def, err := fields.Add(ctx, k, "VirtualMachine", nil, nil)
			if err != nil {
				return err
			}
			key = def.Key
		}
		if err := fields.Set(ctx, ref, key, v); err != nil {
			return err
		}
	}
	for _, id := range p.Tags {
		if err := tags.NewManager(c.rest).AttachTag(ctx, id, ref); err != nil {
			return err
		}
	}
	return nil
}

// folder is the one at a path, which is made if it has to be.
func (c *Cloud) folder(ctx context.Context, at string) (*types.ManagedObjectReference, error) {
	parts := strings.SplitN(strings.Trim(at, "/"), "/", 3)
	root, err := c.find(ctx, strings.Join(parts[:min(2, len(parts))], "/"))
	if err != nil || root == nil {
		return nil, fmt.Errorf("no folder %s: %w", at, err)
	}
	if len(parts) == 3 {
		if err := c.addFolder(ctx, object.NewFolder(c.vim, *root), parts[2]); err != nil {
			return nil, err
		}
	}
	return c.find(ctx, at)
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	for _, m := range c.Machines() {
		l := double.Listed{ID: m.InstanceID, Name: m.Name, State: string(m.State), Zone: m.Cluster, Tags: map[string]string{}}
		l.Type = fmt.Sprintf("%d CPUs, %d MiB", m.Config.Hardware.NumCPU, m.Config.Hardware.MemoryMB)
		for k, v := range m.Extra {
			if strings.HasPrefix(k, "millwright") {
				l.Tags[k] = v
			}
		}
		maps.Copy(l.Tags, m.Attributes)
		for _, t := range m.Tags {
			l.Tags["tag "+t] = ""
		}
		all = append(all, l)
	}
	return all
}

// Orphans implements [double.Inspected]. Disks and network cards are parts of their virtual machine.
func (c *Cloud) Orphans() []string { return nil }

// Verbs implements [double.Inspected].
func (c *Cloud) Verbs() []double.Verb {
	const instance = "an instance UUID"
	return []double.Verb{
		{Name: "terminate", On: instance}, {Name: "stop", On: instance}, {Name: "start", On: instance}, {Name: "fail", On: instance},
		{Name: "exhaust", On: "a cluster or a datastore"}, {Name: "restock", On: "a cluster or a datastore"},
		{Name: "attach", On: "an instance UUID, which gets a disk of a volume"}, {Name: "logout", On: "everybody"},
	}
}

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) error {
	switch verb {
	case "exhaust", "restock":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.full[on] = verb == "exhaust"
		return nil
	case "logout":
		c.EndSessions()
		return nil
	case "fail":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.doomed[on] = true
		return nil
	}
	vm := c.byInstance(on)
	if vm == nil {
		return fmt.Errorf("there is no virtual machine with the instance UUID %s", on)
	}
	return c.doTo(verb, vm)
}

func (c *Cloud) doTo(verb string, vm *simulator.VirtualMachine) error {
	var fault types.BaseMethodFault
	switch verb {
	case "terminate":
		_ = c.powerOff(vm)
		fault = c.destroy(vm, &types.Destroy_Task{This: vm.Self})
	case "stop":
		fault = c.powerOff(vm)
	case "start":
		fault = c.powerOn(vm)
	case "attach":
		return c.attachVolume(vm)
	default:
		return fmt.Errorf("no such verb: %s", verb)
	}
	if fault != nil {
		return errors.New(localized(fault))
	}
	return nil
}

func (c *Cloud) byInstance(id string) *simulator.VirtualMachine {
	for _, e := range c.own().Map.All("VirtualMachine") {
		if vm := e.(*simulator.VirtualMachine); strings.EqualFold(vm.Config.InstanceUuid, id) {
			return vm
		}
	}
	return nil
}

// attachVolume adds a disk whose file is not with the virtual machine's, as storage drivers do.
func (c *Cloud) attachVolume(vm *simulator.VirtualMachine) error {
	all := object.VirtualDeviceList(vm.Config.Hardware.Device)
	controller, err := all.FindDiskController("")
	if err != nil {
		return err
	}
	datastore := strings.SplitN(vm.Config.Files.VmPathName, "]", 2)[0] + "]"
	disk := all.CreateDisk(controller, types.ManagedObjectReference{}, datastore+" fcd/volume-"+vm.Config.InstanceUuid+".vmdk")
	disk.CapacityInKB = gib
	dir := c.own().Map.FileManager()
	_, _ = methods.MakeDirectory(context.Background(), c.vim, &types.MakeDirectory{
		This: dir.Self, Name: datastore + " fcd", Datacenter: c.anyDatacenter(), CreateParentDirectories: types.NewBool(true),
	})
	spec := types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate, Device: disk,
	}}}
	body := vm.ReconfigVMTask(c.own(), &types.ReconfigVM_Task{This: vm.Self, Spec: spec})
	if _, fault := c.inner(body, func() types.ManagedObjectReference { return body.(*methods.ReconfigVM_TaskBody).Res.Returnval }); fault != nil {
		return fmt.Errorf("attach: %T", fault)
	}
	return nil
}

func (c *Cloud) anyDatacenter() *types.ManagedObjectReference {
	ref := c.own().Map.Any("Datacenter").Reference()
	return &ref
}
