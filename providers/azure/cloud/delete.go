package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
)

// deleter is the state of one call of Delete.
type deleter struct {
	call
	ref       provider.Ref
	instances []provider.Instance
}

// Delete implements [provider.Session]. The deletion of a virtual machine includes the resources created
// for it. Resources that remain, for example because the virtual machine was never created, are deleted afterwards.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	c, err := s.newCall(ctx)
	if err != nil {
		return false, err
	}
	r := deleter{call: c, ref: ref, instances: instances}
	going, err := r.toDelete(ctx)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, vm := range going {
		errs = append(errs, r.deleteVM(ctx, vm))
	}
	if len(going) > 0 {
		return false, errors.Join(errs...)
	}
	left, err := r.deleteDependants(ctx)
	if err != nil || left {
		return false, err
	}
	return r.deleteAvailabilitySets(ctx)
}

// toDelete are the virtual machines to be removed: the given ones, if their identity has not changed, and
// those with ref's UID.
func (d deleter) toDelete(ctx context.Context) (going []*compute.VirtualMachine, err error) {
	given := map[string]provider.Instance{}
	for _, i := range d.instances {
		given[strings.ToLower(i.ID)] = i
	}
	wanted := func(vm *compute.VirtualMachine) bool {
		at, ok := parseID(deref(vm.ID))
		if !ok || !d.ours.has(vm.Tags) {
			return false
		}
		uid := tagOf(vm.Tags, tagUID)
		// Names are reused: another machine under the name is not the given one.
		i, is := given[at.key()]
		return is && i.UID == uid || d.ref.UID != "" && uid == d.ref.UID
	}
	seen := map[string]bool{}
	for vm, err := range d.machines(ctx) {
		if err != nil {
			return nil, err
		}
		if wanted(vm) {
			going = append(going, vm)
			at, _ := parseID(deref(vm.ID))
			seen[at.key()] = true
		}
	}
	for id := range given {
		at, ok := parseID(id)
		if !ok || seen[id] || strings.EqualFold(at.group, d.group) || d.group == "" {
			continue // the listing has it, or it is deleted
		}
		vm, err := d.machine(ctx, at.group, at.name)
		if err != nil {
			return nil, err
		}
		if vm != nil && wanted(vm) {
			going = append(going, vm)
		}
	}
	return going, nil
}

// deleteVM begins to delete a virtual machine. It first tags what would be left behind, so that it is found;
// then it changes the machine so that its deletion includes the resources, which only works while the
// machine is healthy.
func (d deleter) deleteVM(ctx context.Context, vm *compute.VirtualMachine) error {
	at, _ := parseID(deref(vm.ID))
	state := ""
	if vm.Properties != nil {
		state = deref(vm.Properties.ProvisioningState)
	}
	if strings.EqualFold(state, "Deleting") {
		return nil
	}
	vms, change := d.compute.NewVirtualMachinesClient(), cascade(vm, at.name)
	var left []error
	if change != nil {
		if left = d.claim(ctx, vm); slices.ContainsFunc(left, hopeful) {
			return errors.Join(left...)
		}
	}
	if change != nil && strings.EqualFold(state, succeeded) {
		_, err := vms.BeginUpdate(ctx, at.group, at.name, *change, nil)
		if err == nil || isMissing(err) {
			return errors.Join(left...) // the next call deletes it
		}
		// If a policy forbids every change of the machine, it is deleted anyway, and the sweep removes what
		// is left behind.
		if err = d.observe(err, "have virtual machine %s take its disks and interfaces along", at.name); hopeful(err) {
			return err
		}
	}
	_, err := vms.BeginDelete(ctx, at.group, at.name, nil)
	if isMissing(err) {
		return errors.Join(left...)
	}
	return errors.Join(append(left, d.observe(err, "delete virtual machine %s", at.name))...)
}

// hopeful reports whether a repeated call may succeed. If a policy, a role, or the machine's state forbids
// the change, deletion continues without it.
func hopeful(err error) bool {
	switch provider.KindOf(err) {
	case "", provider.Conflict, provider.Denied, provider.Invalid:
		return false
	}
	return true
}

// cascade is the change after which the deletion of a virtual machine includes the resources created for
// it; nil: it already does. Other attachments, above all volumes, are not changed, but lists are complete:
// Azure detaches what a list leaves out.
func cascade(vm *compute.VirtualMachine, name string) *compute.VirtualMachineUpdate {
	p := vm.Properties
	if p == nil {
		return nil
	}
	change := &compute.VirtualMachineProperties{}
	interfaces := cascadeInterfaces(p.NetworkProfile, name)
	if interfaces != nil {
		change.NetworkProfile = &compute.NetworkProfile{NetworkInterfaces: interfaces}
	}
	storage := cascadeDisks(p.StorageProfile, name)
	if change.StorageProfile = storage; interfaces == nil && storage == nil {
		return nil
	}
	return &compute.VirtualMachineUpdate{Properties: change}
}

// cascadeInterfaces are all interfaces, with the machine's own changed so that it is deleted with the machine; nil if it
// already is.
func cascadeInterfaces(n *compute.NetworkProfile, name string) (all []*compute.NetworkInterfaceReference) {
	if n == nil {
		return nil
	}
	changed := false
	for _, ref := range n.NetworkInterfaces {
		p := compute.NetworkInterfaceReferenceProperties{}
		if ref.Properties != nil {
			p = *ref.Properties
		}
		if strings.EqualFold(base(deref(ref.ID)), name+nicSuffix) && deref(p.DeleteOption) != compute.DeleteOptionsDelete {
			p.DeleteOption, changed = to.Ptr(compute.DeleteOptionsDelete), true
		}
		all = append(all, &compute.NetworkInterfaceReference{ID: ref.ID, Properties: &p})
	}
	if !changed {
		return nil
	}
	return all
}

// cascadeDisks are the disks, with the machine's own changed so that they are deleted with the machine; nil if they already
// are. For OpenShift's data disks the spec decides.
func cascadeDisks(s *compute.StorageProfile, name string) *compute.StorageProfile {
	if s == nil {
		return nil
	}
	change := &compute.StorageProfile{}
	if d := s.OSDisk; d != nil && d.DiffDiskSettings == nil && deref(d.DeleteOption) != compute.DiskDeleteOptionTypesDelete {
		change.OSDisk = &compute.OSDisk{Name: d.Name, CreateOption: d.CreateOption, DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete)}
	}
	var disks []*compute.DataDisk
	changed := false
	for _, has := range s.DataDisks {
		d := *has
		if strings.HasPrefix(deref(d.Name), name+"-") && strings.HasSuffix(deref(d.Name), dataDiskSuffix) && deref(d.DeleteOption) != compute.DiskDeleteOptionTypesDelete {
			d.DeleteOption, changed = to.Ptr(compute.DiskDeleteOptionTypesDelete), true
		}
		disks = append(disks, &d)
	}
	if changed {
		change.DataDisks = disks
	}
	if change.OSDisk == nil && !changed {
		return nil
	}
	return change
}
