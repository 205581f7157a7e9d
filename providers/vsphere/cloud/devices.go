package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

const gibInKiB = 1 << 20

// devices are the changes to the template's: a larger disk, further disks, and other network cards.
func (s creator) devices(ctx context.Context, c *conn, t *templateVM, at clonePlacement, linked bool) (all []types.BaseVirtualDeviceConfigSpec, err error) {
	disk, err := s.disk(t, linked)
	if err != nil {
		return nil, err
	}
	if disk != nil {
		all = append(all, disk)
	}
	data, err := dataDisks(t, s.plan.dataDisks)
	if err != nil {
		return nil, err
	}
	cards, err := s.cards(ctx, c, t, at)
	if err != nil {
		return nil, err
	}
	return append(append(all, data...), cards...), nil
}

// disk is the template's first disk with the size in the spec; nil if it is unchanged, as in a linked
// clone.
func (s creator) disk(t *templateVM, linked bool) (types.BaseVirtualDeviceConfigSpec, error) {
	if s.plan.diskGiB == 0 || linked {
		return nil, nil
	}
	first, err := firstDisk(t)
	if err != nil {
		return nil, err
	}
	disk := *first
	size := s.plan.diskGiB * gibInKiB
	if size < disk.CapacityInKB {
		return nil, provider.InvalidField(s.plan.field("diskGiB"), "a disk of %d GiB cannot be made of the template's, which has %d KiB", s.plan.diskGiB, disk.CapacityInKB)
	}
	disk.CapacityInKB, disk.CapacityInBytes = size, size<<10
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk}, nil
}

func firstDisk(t *templateVM) (*types.VirtualDisk, error) {
	for _, d := range t.devices {
		if disk, ok := d.(*types.VirtualDisk); ok {
			return disk, nil
		}
	}
	return nil, provider.InvalidField("template", "the template has no disk")
}

// backing is the provisioning mode of a disk.
type backing struct{ thin, eager *bool }

var yes, no = true, false

// provisioning maps the modes of disks. An omitted mode is decided by the storage policy of the datastore.
var provisioning = map[machinev1beta1.ProvisioningMode]backing{
	"":                                   {},
	machinev1beta1.ProvisioningModeThin:  {thin: &yes},
	machinev1beta1.ProvisioningModeThick: {thin: &no},
	machinev1beta1.ProvisioningModeEagerlyZeroed: {thin: &no, eager: &yes},
}

// dataDisks are further disks at the controller of the first one. Their files are in the virtual machine's
// folder, and are deleted with it.
func dataDisks(t *templateVM, disks []machinev1beta1.VSphereDisk) (all []types.BaseVirtualDeviceConfigSpec, err error) {
	if len(disks) == 0 {
		return nil, nil
	}
	first, err := firstDisk(t)
	if err != nil {
		return nil, err
	}
	units := freeUnits(t, first.ControllerKey)
	for i, d := range disks {
		if i >= len(units) {
			return nil, provider.InvalidField(fmt.Sprintf("dataDisks[%d]", i), "the controller of the template's disk has no room for it")
		}
		mode := provisioning[d.ProvisioningMode]
		all = append(all, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd, FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Device: &types.VirtualDisk{
				VirtualDevice: types.VirtualDevice{
					Key: int32(-200 - i), ControllerKey: first.ControllerKey, UnitNumber: &units[i],
					DeviceInfo: &types.Description{Label: d.Name, Summary: d.Name},
					Backing:    &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent), ThinProvisioned: mode.thin, EagerlyScrub: mode.eager},
				},
				CapacityInKB: int64(d.SizeGiB) * gibInKiB, CapacityInBytes: int64(d.SizeGiB) * gibInKiB << 10,
			},
		})
	}
	return all, nil
}

// mostUnits is the number of units of a controller, its own included.
const mostUnits = 31

// freeUnits are the unused units of a controller. A SCSI controller uses one itself.
func freeUnits(t *templateVM, controller int32) (free []int32) {
	taken := map[int32]bool{}
	for _, d := range t.devices {
		v := d.GetVirtualDevice()
		if v.ControllerKey == controller && v.UnitNumber != nil {
			taken[*v.UnitNumber] = true
		}
		if scsi, ok := d.(types.BaseVirtualSCSIController); ok && v.Key == controller {
			taken[scsi.GetVirtualSCSIController().ScsiCtlrUnitNumber] = true
		}
	}
	for unit := range int32(mostUnits) {
		if !taken[unit] {
			free = append(free, unit)
		}
	}
	return free
}

// cards replace the template's network cards, which may be connected to any network.
func (s creator) cards(ctx context.Context, c *conn, t *templateVM, at clonePlacement) (all []types.BaseVirtualDeviceConfigSpec, err error) {
	for _, d := range t.devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
		all = append(all, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: d})
	}
	for i, nic := range s.plan.nics {
		field := s.plan.field(fmt.Sprintf("network.devices[%d].networkName", i))
		backing, err := s.network(ctx, c, at, nic.NetworkName, field)
		if err != nil {
			return nil, err
		}
		card, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
		if err != nil {
			return nil, err
		}
		card.GetVirtualDevice().Key = int32(-100 - i) // temporary until it has a real one
		all = append(all, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card})
	}
	return all, nil
}

// network is the network of a card: a network of the cluster that the virtual machine runs in.
func (s creator) network(ctx context.Context, c *conn, at clonePlacement, name, field string) (types.BaseVirtualDeviceBackingInfo, error) {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && s.class.API == provider.Gardener {
		name = name[i+1:] // an inventory path
	}
	owner, err := c.ownerOf(ctx, at.pool)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("network %s %s of %s", name, s.plan.switchUUID, owner.Value)
	return remember(ctx, c.memo, key, func() (types.BaseVirtualDeviceBackingInfo, error) {
		found, err := networksCalled(ctx, c, owner, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			if found, err = s.elsewhere(ctx, c, owner, name, field); err != nil {
				return nil, err
			}
		}
		return s.pick(ctx, c, found, name, field)
	})
}

// elsewhere distinguishes a network that no host of the cluster has from one that does not exist.
func (s creator) elsewhere(ctx context.Context, c *conn, owner ref, name, field string) ([]ref, error) {
	in, err := inventory(s).searchScope(ctx, c)
	if err != nil {
		return nil, err
	}
	there, err := c.at(ctx, in.path+"/network/"+name, "Network", "DistributedVirtualPortgroup", "OpaqueNetwork")
	if err != nil || there == nil {
		return nil, err
	}
	found, err := networksCalled(ctx, c, owner, name)
	if err == nil && len(found) == 0 {
		err = provider.InvalidField(field, "the datacenter has a network %q, but not the cluster that the machine is to run in", name)
	}
	return found, err
}

// networksCalled are the cluster's networks with a name.
func networksCalled(ctx context.Context, c *conn, owner ref, name string) (all []ref, err error) {
	skip := true
	spec := types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: owner, Skip: &skip, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ComputeResource", Path: "network"}}}},
		PropSet:   []types.PropertySpec{{Type: "Network", PathSet: []string{"name"}}},
	}
	for o, err := range c.collect(ctx, spec, 0) {
		if err != nil {
			return nil, err
		}
		for _, p := range o.PropSet {
			if p.Val == name {
				all = append(all, o.Obj)
			}
		}
	}
	return all, nil
}

// pick selects one of the networks with a name: of several, that of the switch in the spec.
func (s creator) pick(ctx context.Context, c *conn, found []ref, name, field string) (chosen types.BaseVirtualDeviceBackingInfo, err error) {
	for _, r := range found {
		network, ok := object.NewReference(c.vim, r).(object.NetworkReference)
		if !ok {
			continue
		}
		backing, err := network.EthernetCardBackingInfo(ctx)
		if err != nil && !errors.Is(err, object.ErrNotSupported) {
			return nil, fmt.Errorf("connect to the network %s: %w", name, err)
		}
		if err != nil || !s.ofSwitch(backing) {
			continue
		}
		if chosen != nil {
			return nil, provider.InvalidField(field, "the cluster has several networks called %q: say of which distributed switch (switchUuid)", name)
		}
		chosen = backing
	}
	switch {
	case chosen == nil && len(found) > 0 && s.plan.switchUUID != "":
		return nil, provider.InvalidField(s.plan.field("switchUuid"), "no network %q is one of the switch %s", name, s.plan.switchUUID)
	case chosen == nil:
		return nil, provider.InvalidField(field, "the cluster that the machine is to run in has no network %q, or this user does not see it", name)
	}
	return chosen, nil
}

func (s creator) ofSwitch(backing types.BaseVirtualDeviceBackingInfo) bool {
	if s.plan.switchUUID == "" {
		return true
	}
	port, ok := backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo)
	return ok && normal(port.Port.SwitchUuid) == normal(s.plan.switchUUID)
}

// normal is a switch's UUID in a form for comparison: they are written with spaces, dashes, or both.
func normal(uuid string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(uuid))
}
