package cloud

import (
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
)

// networkProfile lets Azure delete the machine's interface with it.
func networkProfile(b vmInput) *compute.NetworkProfile {
	return &compute.NetworkProfile{NetworkInterfaces: []*compute.NetworkInterfaceReference{{
		ID:         to.Ptr(b.nic),
		Properties: &compute.NetworkInterfaceReferenceProperties{Primary: to.Ptr(true), DeleteOption: to.Ptr(compute.DeleteOptionsDelete)},
	}}}
}

// dataDisks are empty, or were created from an image before.
func dataDisks(all []dataDisk, n names, b vmInput) (out []*compute.DataDisk) {
	for _, d := range all {
		disk := &compute.DataDisk{
			Name: to.Ptr(n.disk(b.name, d.name, d.lun)), Lun: to.Ptr(d.lun), DiskSizeGB: to.Ptr(d.size), CreateOption: to.Ptr(compute.DiskCreateOptionTypesEmpty),
			Caching: optional[compute.CachingTypes](d.caching), DeleteOption: to.Ptr(compute.DiskDeleteOptionTypesDelete),
			ManagedDisk: &compute.ManagedDiskParameters{StorageAccountType: optional[compute.StorageAccountTypes](d.kind)},
		}
		if d.keep {
			disk.DeleteOption = to.Ptr(compute.DiskDeleteOptionTypesDetach)
		}
		if d.encryption != "" {
			disk.ManagedDisk.DiskEncryptionSet = &compute.DiskEncryptionSetParameters{ID: to.Ptr(d.encryption)}
		}
		if id, ok := b.disks[d.lun]; ok {
			disk.CreateOption, disk.ManagedDisk.ID = to.Ptr(compute.DiskCreateOptionTypesAttach), to.Ptr(id)
		}
		out = append(out, disk)
	}
	return out
}

// kept are the names, without the machine's, of disks that outlive it, as the tag has them.
func kept(all []dataDisk) string {
	var names []string
	for _, d := range all {
		if d.keep {
			names = append(names, d.name)
		}
	}
	return strings.Join(names, ",")
}

// checkKept refuses more names of kept disks than fit into a tag: without the tag the disks would count as
// leftovers.
func checkKept(all []dataDisk) error {
	if n := len(kept(all)); n > mostTagValue {
		return provider.InvalidField("dataDisks", "the name suffixes of disks that outlive the machine have %d characters together: no more than %d", n, mostTagValue)
	}
	return nil
}

// isKept reports whether a disk outlives its machine, by its own name and tags. No name of a machine
// contains a _.
func isKept(disk string, tags map[string]*string) bool {
	_, suffix, _ := strings.Cut(disk, "_")
	return suffix != "" && slices.ContainsFunc(strings.Split(tagOf(tags, tagKept), ","), func(k string) bool { return strings.EqualFold(k, suffix) })
}
