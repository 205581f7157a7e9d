package cloud

import (
	"context"
	"strings"

	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	network "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
)

// claim tags with the machine's UID what an original made for a virtual machine, so that the sweep finds it when the machine is gone and nothing refers to
// it any more. The original of OpenShift gives public addresses no tag. What has the UID of another machine is left to that.
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

// claimInterface tags an interface, and the public address that the original made for it.
func (s removal) claimInterface(ctx context.Context, id, machine string) (errs []error) {
	at, _ := placeOf(id)
	nics := s.network.NewInterfacesClient()
	got, err := nics.Get(ctx, at.group, at.name, nil)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return []error{s.told(err, "read network interface %s", at.name)}
	}
	for _, address := range publicOf(&got.Interface) {
		if strings.EqualFold(base(address), addressName(s.class.Cluster, machine)) {
			errs = append(errs, s.claimAddress(ctx, address))
		}
	}
	if tags := s.claimed(got.Tags); tags != nil {
		_, err = nics.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
		errs = append(errs, s.unclaimed(err, kindNIC, at.name))
	}
	return errs
}

func (s removal) claimAddress(ctx context.Context, id string) error {
	at, _ := placeOf(id)
	addresses := s.network.NewPublicIPAddressesClient()
	got, err := addresses.Get(ctx, at.group, at.name, nil)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return s.told(err, "read public address %s", at.name)
	}
	tags := s.claimed(got.Tags)
	if tags == nil {
		return nil
	}
	_, err = addresses.UpdateTags(ctx, at.group, at.name, network.TagsObject{Tags: tags}, nil)
	return s.unclaimed(err, kindAddress, at.name)
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
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return s.told(err, "read disk %s", at.name)
	}
	tags := s.claimed(got.Tags)
	if tags == nil {
		return nil
	}
	_, err = disks.BeginUpdate(ctx, at.group, at.name, compute.DiskUpdate{Tags: tags}, nil)
	return s.unclaimed(err, kindDisk, at.name)
}

// claimed are the tags of something with those that say whose it is; nil: it has a UID, or no room.
func (s removal) claimed(has map[string]*string) map[string]*string {
	if tagOf(has, tagUID) != "" {
		return nil
	}
	was := map[string]string{}
	for key, value := range has {
		was[key] = deref(value)
	}
	out := merged(was, s.ours.mark(s.class, s.ref))
	if len(out) > mostTags {
		out = merged(was, map[string]string{tagUID: s.ref.UID, tagCluster: s.class.Cluster})
	}
	if len(out) > mostTags {
		return nil
	}
	return out
}

// unclaimed is the error for something that may outlive its machine, since nobody may tag it.
func (s removal) unclaimed(err error, kind, name string) error {
	if err == nil || isMissing(err) {
		return nil
	}
	return s.design.refusal(err, "tag %s %s, which may outlive its machine otherwise", kind, name)
}
