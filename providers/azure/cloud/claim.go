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
func (d deleter) claim(ctx context.Context, vm *compute.VirtualMachine) (errs []error) {
	if d.ref.UID == "" {
		return nil
	}
	at, _ := parseID(deref(vm.ID))
	for _, id := range nicsOf(vm) {
		if strings.EqualFold(base(id), at.name+nicSuffix) {
			errs = append(errs, d.claimInterface(ctx, id, at.name)...)
		}
	}
	return append(errs, d.claimDisk(ctx, vm))
}

// claimInterface tags an interface, and the public address that the original created for it.
func (d deleter) claimInterface(ctx context.Context, id, machine string) (errs []error) {
	at, _ := parseID(id)
	nics := d.network.NewInterfacesClient()
	got, err := nics.Get(ctx, at.group, at.name, nil)
	for _, address := range publicOf(&got.Interface) {
		if strings.EqualFold(base(address), addressName(d.class.Cluster, machine)) {
			errs = append(errs, d.claimAddress(ctx, address))
		}
	}
	return append(errs, d.claimOne(kindNIC, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := nics.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
		return err
	}))
}

func (d deleter) claimAddress(ctx context.Context, id string) error {
	at, _ := parseID(id)
	addresses := d.network.NewPublicIPAddressesClient()
	got, err := addresses.Get(ctx, at.group, at.name, nil)
	return d.claimOne(kindAddress, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := addresses.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
		return err
	})
}

// claimDisk tags the disk that a machine boots from.
func (d deleter) claimDisk(ctx context.Context, vm *compute.VirtualMachine) error {
	if vm.Properties == nil || vm.Properties.StorageProfile == nil || vm.Properties.StorageProfile.OSDisk == nil {
		return nil
	}
	disk := vm.Properties.StorageProfile.OSDisk
	if disk.ManagedDisk == nil || disk.DiffDiskSettings != nil {
		return nil
	}
	at, ok := parseID(deref(disk.ManagedDisk.ID))
	if !ok {
		return nil
	}
	disks := d.compute.NewDisksClient()
	got, err := disks.Get(ctx, at.group, at.name, nil)
	return d.claimOne(kindDisk, at.name, got.Tags, err, func(tags map[string]*string) error {
		_, err := disks.BeginUpdate(ctx, at.group, at.name, compute.DiskUpdate{Tags: tags}, nil)
		return err
	})
}

// claimOne calls write to tag a resource, given its tags and the error of reading it. A deleted resource
// needs no tags.
func (d deleter) claimOne(kind, name string, has map[string]*string, err error, write func(map[string]*string) error) error {
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return d.observe(err, "read %s %s", kind, name)
	}
	tags := d.claimed(has)
	if tags == nil {
		return nil
	}
	if err := write(tags); err != nil && !isMissing(err) {
		return d.plan.refusal(err, "tag %s %s, which may outlive its machine otherwise", kind, name)
	}
	return nil
}

// claimed are the tags of a resource with those of the machine; nil: it has a UID, or no room.
func (d deleter) claimed(has map[string]*string) map[string]*string {
	if tagOf(has, tagUID) != "" {
		return nil
	}
	was := valuesOf(has)
	out := merged(was, d.ours.mark(d.class, d.ref))
	if len(out) > mostTags {
		out = merged(was, map[string]string{tagUID: d.ref.UID, tagCluster: d.class.Cluster})
	}
	if len(out) > mostTags {
		return nil
	}
	return out
}
