package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Machine is the current state of a virtual machine.
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

// Machines are all virtual machines except templates, by name and instance UUID.
func (c *Cloud) Machines() (all []Machine) {
	c.world.settle()
	ctx, tagged := c.world.own(), c.builder.tagged()
	for _, e := range ctx.Map.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		ctx.WithLock(vm, func() {
			if vm.Config.Template {
				return
			}
			m := Machine{
				Ref: vm.Self, Name: vm.Name, UUID: vm.Config.Uuid, InstanceID: vm.Config.InstanceUuid, State: vm.Runtime.PowerState,
				Extra: extraConfig(vm), Attributes: attributes(ctx, vm), Tags: tagged[vm.Self], Config: *vm.Config, Cluster: c.world.clusterOf(vm),
			}
			m.Folder = ctx.Map.Get(*vm.Parent).(mo.Entity).Entity().Name
			m.Datastore = strings.Trim(strings.SplitN(vm.Config.Files.VmPathName, "]", 2)[0], "[")
			all = append(all, m)
		})
	}
	slices.SortFunc(all, func(a, b Machine) int { return strings.Compare(a.Name+a.InstanceID, b.Name+b.InstanceID) })
	return all
}

func attributes(ctx *simulator.Context, vm *simulator.VirtualMachine) map[string]string {
	names := map[int32]string{}
	for _, f := range ctx.Map.CustomFieldsManager().Field {
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

// tagged are the names of tags by the objects that have them.
func (b *builder) tagged() map[types.ManagedObjectReference][]string {
	ctx, m := context.Background(), tags.NewManager(b.rest)
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

// Cloning are the options of the clones in progress. If several clones have the same name and folder, only one can
// succeed.
func (c *Cloud) Cloning() (all []map[string]string) {
	c.world.settle()
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	seen := map[string]bool{}
	for _, req := range c.world.cloning {
		key := req.Folder.Value + "/" + req.Name
		if seen[key] {
			continue
		}
		seen[key] = true
		options := map[string]string{}
		if req.Spec.Config != nil {
			for _, o := range req.Spec.Config.ExtraConfig {
				options[o.GetOptionValue().Key] = fmt.Sprint(o.GetOptionValue().Value)
			}
		}
		all = append(all, options)
	}
	return all
}

// Plant is a virtual machine that another client creates.
type Plant struct {
	// Folder and Template are inventory paths; a missing folder is created.
	Name, Folder, Template string
	InstanceID             string
	Extra, Attributes      map[string]string
	Tags                   []string // IDs
}

// Plant creates a running virtual machine.
func (c *Cloud) Plant(p Plant) (Machine, error) {
	ctx := context.Background()
	folder, err := c.builder.folder(ctx, p.Folder)
	if err != nil {
		return Machine{}, err
	}
	template, err := c.builder.find(ctx, p.Template)
	if err != nil || template == nil {
		return Machine{}, fmt.Errorf("there is no template %s: %w", p.Template, err)
	}
	vm := c.world.own().Map.Get(*template).(*simulator.VirtualMachine)
	host := c.world.own().Map.Get(*vm.Runtime.Host).(*simulator.HostSystem)
	pool := c.world.own().Map.Get(*host.Parent).(*simulator.ClusterComputeResource).ResourcePool
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: pool}, Config: &types.VirtualMachineConfigSpec{InstanceUuid: p.InstanceID}}
	for k, v := range p.Extra {
		spec.Config.ExtraConfig = append(spec.Config.ExtraConfig, &types.OptionValue{Key: k, Value: v})
	}
	made, fault := c.world.clone(vm, &types.CloneVM_Task{This: *template, Folder: *folder, Name: p.Name, Spec: spec})
	if fault != nil {
		return Machine{}, errors.New(localized(fault))
	}
	ref := made.(types.ManagedObjectReference)
	if err := c.builder.mark(ctx, ref, p); err != nil {
		return Machine{}, err
	}
	planted := c.world.own().Map.Get(ref).(*simulator.VirtualMachine)
	if fault := c.world.powerOn(planted); fault != nil {
		return Machine{}, errors.New(localized(fault))
	}
	guestUp(c.world.own(), planted)
	for _, m := range c.Machines() {
		if m.Ref == ref {
			return m, nil
		}
	}
	return Machine{}, errors.New("it does not exist")
}

func (b *builder) mark(ctx context.Context, ref types.ManagedObjectReference, p Plant) error {
	fields, err := object.GetCustomFieldsManager(b.vim)
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
		if err := tags.NewManager(b.rest).AttachTag(ctx, id, ref); err != nil {
			return err
		}
	}
	return nil
}

// folder is the folder at a path, which is created if missing.
func (b *builder) folder(ctx context.Context, at string) (*types.ManagedObjectReference, error) {
	parts := strings.SplitN(strings.Trim(at, "/"), "/", 3)
	root, err := b.find(ctx, strings.Join(parts[:min(2, len(parts))], "/"))
	if err != nil || root == nil {
		return nil, fmt.Errorf("no folder %s: %w", at, err)
	}
	if len(parts) == 3 {
		if err := b.addFolder(ctx, object.NewFolder(b.vim, *root), parts[2]); err != nil {
			return nil, err
		}
	}
	return b.find(ctx, at)
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	for _, m := range c.Machines() {
		l := double.Listed{ID: m.InstanceID, Handle: m.Ref.Value, Name: m.Name, State: string(m.State), Zone: m.Cluster, Tags: map[string]string{}}
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

var _ double.Exhaustible = (*Cloud)(nil)

// Exhausted implements [double.Exhaustible].
func (c *Cloud) Exhausted() []string { return c.world.Exhausted() }

func (c *Cloud) controls() double.Controls {
	find := func(id string) (*simulator.VirtualMachine, bool) {
		vm := byInstance(c.world.own(), id)
		return vm, vm != nil
	}
	onInstance := double.OnInstance(&sync.Mutex{}, find) // the tasks lock what they change
	do := func(task func(*simulator.VirtualMachine) types.BaseMethodFault) func(string) error {
		return onInstance(func(vm *simulator.VirtualMachine) error {
			if fault := task(vm); fault != nil {
				return errors.New(localized(fault))
			}
			return nil
		})
	}
	const instance = "an instance UUID"
	return append(c.world.ExhaustVerbs("a cluster or a datastore"),
		double.Verb{Name: "terminate", On: instance, Do: do(func(vm *simulator.VirtualMachine) types.BaseMethodFault {
			_ = c.world.powerOff(vm)
			return c.world.destroy(vm, &types.Destroy_Task{This: vm.Self})
		})},
		double.Verb{Name: "stop", On: instance, Do: do(c.world.powerOff)},
		double.Verb{Name: "start", On: instance, Do: do(c.world.powerOn)},
		double.Verb{Name: "fail", On: instance, Do: func(on string) error {
			c.world.mu.Lock()
			defer c.world.mu.Unlock()
			c.world.doomed[on] = true
			return nil
		}},
		double.Verb{Name: "attach", On: "an instance UUID: a disk of a volume is attached to it", Do: onInstance(func(vm *simulator.VirtualMachine) error {
			return storage{c.builder}.attach(c.world.own(), vm, volumeOf(vm))
		})},
		double.Verb{Name: "strip", On: "an instance UUID: it loses its tags and custom attributes", Do: onInstance(func(vm *simulator.VirtualMachine) error {
			return c.builder.strip(c.world.own(), vm)
		})},
		double.Verb{Name: "logout", On: "all users: their sessions end", Do: func(string) error {
			c.EndSessions()
			return nil
		}},
	)
}

// strip removes what users may remove: tags and custom attributes.
func (b *builder) strip(ctx *simulator.Context, vm *simulator.VirtualMachine) error {
	m := tags.NewManager(b.rest)
	attached, err := m.ListAttachedTags(context.Background(), vm.Self)
	if err != nil {
		return err
	}
	for _, id := range attached {
		if err := m.DetachTag(context.Background(), id, vm.Self); err != nil {
			return err
		}
	}
	ctx.WithLock(vm, func() { vm.CustomValue, vm.Value = nil, nil })
	return nil
}

func byInstance(ctx *simulator.Context, id string) *simulator.VirtualMachine {
	for _, e := range ctx.Map.All("VirtualMachine") {
		if vm := e.(*simulator.VirtualMachine); strings.EqualFold(vm.Config.InstanceUuid, id) {
			return vm
		}
	}
	return nil
}
