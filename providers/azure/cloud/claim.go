package cloud

import (
	"context"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
)

// claim tags the resources that an original created for a virtual machine with the machine's UID, so that
// the sweep finds them after the machine is deleted and nothing refers to them. The original of OpenShift
// does not tag public addresses. Resources with the UID of another machine are left alone.
func (s removal) claim(ctx context.Context, vm *compute.VirtualMachine) (errs []error) {
	if s.ref.UID == "" {
		return nil
	}
	at, _ := placeOf(deref(vm.ID))
	for _, id := range nicsOf(vm) {
		if strings.EqualFold(base(id), at.name+nicSuffix) {
			errs = append(errs, s.claimInterface(ctx, id, at.name)...)
		}
	}
	return append(errs, s.claimDisk(ctx, vm))
}

// claimInterface tags an interface, and the public address that the original created for it.
func (s removal) claimInterface(ctx context.Context, id, machine string) (errs []error) {
	at, _ := placeOf(id)
	nics := s.network.NewInterfacesClient()
	got, err := nics.Get(ctx, at.group, at.name, nil)
	for _, address := range publicOf(&got.Interface) {
		if strings.EqualFold(base(address), addressName(s.class.Cluster, machine)) {
			errs = append(errs, s.claimAddress(ctx, address))
		}
	}
	return append(errs, s.claimOne(kindNIC, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := nics.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
		return err
	}))
}

func (s removal) claimAddress(ctx context.Context, id string) error {
	at, _ := placeOf(id)
	addresses := s.network.NewPublicIPAddressesClient()
	got, err := addresses.Get(ctx, at.group, at.name, nil)
	return s.claimOne(kindAddress, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := addresses.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
		return err
	})
}

// claimDisk tags the disk that a machine boots from.
func (s removal) claimDisk(ctx context.Context, vm *compute.VirtualMachine) error {
	if vm.Properties == nil || vm.Properties.StorageProfile == nil || vm.Properties.StorageProfile.OSDisk == nil {
		return nil
	}
	d := vm.Properties.StorageProfile.OSDisk
	if d.ManagedDisk == nil || d.DiffDiskSettings != nil {
		return nil
	}
	at, ok := placeOf(deref(d.ManagedDisk.ID))
	if !ok {
		return nil
	}
	disks := s.compute.NewDisksClient()
	got, err := disks.Get(ctx, at.group, at.name, nil)
	return s.claimOne(kindDisk, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := disks.BeginUpdate(ctx, at.group, at.name, compute.DiskUpdate{Tags: tags}, nil)
		return err
	})
}

// claimOne calls write to tag a resource, given its tags and the error of reading it. A deleted resource
// needs no tags.
func (s removal) claimOne(kind, name string, has map[string]*string, err error, write func(map[string]*string) error) error {
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return s.told(err, "read %s %s", kind, name)
	}
	tags := s.claimed(has)
	if tags == nil {
		return nil
	}
	if err := write(tags); err != nil && !isMissing(err) {
		return s.design.refusal(err, "tag %s %s, which may outlive its machine otherwise", kind, name)
	}
	return nil
}

// claimed are the tags of a resource with those of the machine; nil: it has a UID, or no room.
func (s removal) claimed(has map[string]*string) map[string]*string {
	if tagOf(has, tagUID) != "" {
		return nil
	}
	was := valuesOf(has)
	out := merged(was, s.ours.mark(s.class, s.ref))
	if len(out) > mostTags {
		out = merged(was, map[string]string{tagUID: s.ref.UID, tagCluster: s.class.Cluster})
	}
	if len(out) > mostTags {
		return nil
	}
	return out
}
