package cloud

import (
	"context"
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
)

// removal is what one call of Delete removes.
type removal struct {
	scene
	ref       provider.Ref
	instances []provider.Instance
}

// Delete implements [provider.Session]. A virtual machine takes with it what was made for it; what is left all the same, or was made for one
// that never came, goes afterwards.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	sc, err := s.scene(ctx)
	if err != nil {
		return false, err
	}
	r := removal{scene: sc, ref: ref, instances: instances}
	going, err := r.condemned(ctx)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, vm := range going {
		errs = append(errs, r.remove(ctx, vm))
	}
	if len(going) > 0 {
		return false, errors.Join(errs...)
	}
	left, err := r.sweep(ctx)
	if err != nil || left {
		return false, err
	}
	return r.dropSets(ctx)
}

// condemned are the virtual machines to be removed: those that are given, if they still are what they were, and those with ref's UID.
func (s removal) condemned(ctx context.Context) (going []*compute.VirtualMachine, err error) {
	given := map[string]provider.Instance{}
	for _, i := range s.instances {
		given[strings.ToLower(i.ID)] = i
	}
	wanted := func(vm *compute.VirtualMachine) bool {
		at, ok := placeOf(deref(vm.ID))
		if !ok || !s.ours.has(vm.Tags) {
			return false
		}
		uid := tagOf(vm.Tags, tagUID)
		// Names are used again: a machine of the name that is another's is not the one that was given.
		i, is := given[at.key()]
		return is && i.UID == uid || s.ref.UID != "" && uid == s.ref.UID
	}
	seen := map[string]bool{}
	for vm, err := range s.machines(ctx) {
		if err != nil {
			return nil, err
		}
		if wanted(vm) {
			going = append(going, vm)
			at, _ := placeOf(deref(vm.ID))
			seen[at.key()] = true
		}
	}
	for id := range given {
		at, ok := placeOf(id)
		if !ok || seen[id] || strings.EqualFold(at.group, s.group) || s.group == "" {
			continue // the listing has it, or it is gone
		}
		vm, err := s.machine(ctx, at.group, at.name)
		if err != nil {
			return nil, err
		}
		if vm != nil && wanted(vm) {
			going = append(going, vm)
		}
	}
	return going, nil
}

// remove begins to delete a virtual machine. One that would leave something behind is told to take it along first, which only works
// while it is whole.
func (s removal) remove(ctx context.Context, vm *compute.VirtualMachine) error {
	at, _ := placeOf(deref(vm.ID))
	state := ""
	if vm.Properties != nil {
		state = deref(vm.Properties.ProvisioningState)
	}
	if strings.EqualFold(state, "Deleting") {
		return nil
	}
	vms := s.compute.NewVirtualMachinesClient()
	if change := cascade(vm, at.name); change != nil && strings.EqualFold(state, succeeded) {
		_, err := vms.BeginUpdate(ctx, at.group, at.name, *change, nil)
		if err == nil || isMissing(err) {
			return nil // it is deleted when it is asked for again
		}
		switch provider.KindOf(s.design.called().classify(err)) {
		case provider.Conflict, provider.Denied, provider.Invalid:
			// It is deleted all the same: a policy may forbid every change of it, and what it leaves behind is swept.
		default:
			return s.told(err, "have virtual machine %s take its disks and interfaces along", at.name)
		}
	}
	_, err := vms.BeginDelete(ctx, at.group, at.name, nil)
	if isMissing(err) {
		return nil
	}
	return s.told(err, "delete virtual machine %s", at.name)
}

// cascade is the change after which a virtual machine takes along what was made for it; nil: it does already. Of what else is attached to it,
// volumes above all, nothing is changed.
func cascade(vm *compute.VirtualMachine, name string) *compute.VirtualMachineUpdate {
	p := vm.Properties
	if p == nil {
		return nil
	}
	change, needed := &compute.VirtualMachineProperties{}, false
	if p.NetworkProfile != nil {
		for _, ref := range p.NetworkProfile.NetworkInterfaces {
			own := strings.EqualFold(base(deref(ref.ID)), name+nicSuffix)
			if own && (ref.Properties == nil || deref(ref.Properties.DeleteOption) != compute.DeleteOptionsDelete) {
				change.NetworkProfile = &compute.NetworkProfile{NetworkInterfaces: []*compute.NetworkInterfaceReference{{
					ID: ref.ID, Properties: &compute.NetworkInterfaceReferenceProperties{Primary: to.Ptr(true), DeleteOption: to.Ptr(compute.DeleteOptionsDelete)},
				}}}
				needed = true
			}
		}
	}
	if p.StorageProfile == nil {
		return asUpdate(change, needed)
	}
	storage := &compute.StorageProfile{}
	if d := p.StorageProfile.OSDisk; d != nil && d.DiffDiskSettings == nil && deref(d.DeleteOption) != compute.DiskDeleteOptionTypesDelete {
		storage.OSDisk = &compute.OSDisk{Name: d.Name, DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete)}
		change.StorageProfile, needed = storage, true
	}
	for _, d := range p.StorageProfile.DataDisks {
		// Of OpenShift's data disks the spec says what becomes of them.
		if own := strings.HasPrefix(deref(d.Name), name+"-") && strings.HasSuffix(deref(d.Name), dataDiskSuffix); own && deref(d.DeleteOption) != compute.DiskDeleteOptionTypesDelete {
			storage.DataDisks = append(storage.DataDisks, &compute.DataDisk{Lun: d.Lun, Name: d.Name, DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete)})
			change.StorageProfile, needed = storage, true
		}
	}
	return asUpdate(change, needed)
}

func asUpdate(change *compute.VirtualMachineProperties, needed bool) *compute.VirtualMachineUpdate {
	if !needed {
		return nil
	}
	return &compute.VirtualMachineUpdate{Properties: change}
}
