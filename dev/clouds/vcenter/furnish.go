package vcenter

import (
	"context"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// builder creates the objects of the inventory, through the API of govmomi's simulator.
type builder struct {
	own   func() *simulator.Context
	vim   *vim25.Client // without passwords, faults and log
	rest  *rest.Client
	dirs  []string
	hosts int
	// making is held while the objects of a request are created.
	making sync.Mutex
}

func (b *builder) furnish(ctx context.Context, all Inventory) error {
	for _, d := range all.Datacenters {
		if err := b.addDatacenter(ctx, d); err != nil {
			return fmt.Errorf("datacenter %s: %w", d.Name, err)
		}
	}
	for _, name := range all.Customizations {
		if err := b.addCustomization(ctx, name); err != nil {
			return err
		}
	}
	for _, t := range all.Tags {
		if err := b.addTag(ctx, t); err != nil {
			return fmt.Errorf("tag %s of %s: %w", t.Name, t.Category, err)
		}
	}
	return nil
}

func (b *builder) addCustomization(ctx context.Context, name string) error {
	return object.NewCustomizationSpecManager(b.vim).CreateCustomizationSpec(ctx, types.CustomizationSpecItem{
		Info: types.CustomizationSpecInfo{Name: name, Type: "Linux"}, Spec: types.CustomizationSpec{
			Options:  &types.CustomizationLinuxOptions{},
			Identity: &types.CustomizationLinuxPrep{HostName: &types.CustomizationVirtualMachineName{}, Domain: "example.org"},
		},
	})
}

func (b *builder) addTag(ctx context.Context, t Tag) error {
	m := tags.NewManager(b.rest)
	category, err := m.GetCategory(ctx, t.Category)
	if err != nil {
		id, err := m.CreateCategory(ctx, &tags.Category{Name: t.Category, Cardinality: "MULTIPLE"})
		if err != nil {
			return err
		}
		category = &tags.Category{ID: id}
	}
	id, err := m.CreateTag(ctx, &tags.Tag{Name: t.Name, CategoryID: category.ID})
	if err != nil {
		return err
	}
	for _, on := range t.On {
		ref, err := object.NewSearchIndex(b.vim).FindByInventoryPath(ctx, on)
		if err != nil || ref == nil {
			return fmt.Errorf("nothing is at %s: %w", on, err)
		}
		if err := m.AttachTag(ctx, id, ref); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addDatacenter(ctx context.Context, d Datacenter) error {
	dc, err := object.NewRootFolder(b.vim).CreateDatacenter(ctx, d.Name)
	if err != nil {
		return err
	}
	folders, err := dc.Folders(ctx)
	if err != nil {
		return err
	}
	var hosts []*object.HostSystem
	for _, cluster := range d.Clusters {
		added, err := b.addCluster(ctx, folders.HostFolder, cluster)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", cluster.Name, err)
		}
		hosts = append(hosts, added...)
	}
	if err := b.addNetworks(ctx, folders.NetworkFolder, hosts, d.Networks); err != nil {
		return err
	}
	if err := b.addDatastores(ctx, folders.DatastoreFolder, hosts, d); err != nil {
		return err
	}
	for _, below := range d.Folders {
		if err := b.addFolder(ctx, folders.VmFolder, below); err != nil {
			return err
		}
	}
	for _, t := range d.Templates {
		if err := b.addTemplate(ctx, folders.VmFolder, hosts[0], d.Datastores[0], t); err != nil {
			return fmt.Errorf("template %s: %w", t.Name, err)
		}
	}
	return nil
}

func (b *builder) addFolder(ctx context.Context, parent *object.Folder, below string) error {
	for _, name := range strings.Split(strings.Trim(below, "/"), "/") {
		child, err := object.NewSearchIndex(b.vim).FindChild(ctx, parent, name)
		if err != nil {
			return err
		}
		if f, ok := child.(*object.Folder); ok {
			parent = f
			continue
		}
		if parent, err = parent.CreateFolder(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// done waits for a task.
func (b *builder) done(t *object.Task, err error) (types.AnyType, error) {
	if err != nil {
		return nil, err
	}
	info := await(b.own(), t.Reference())
	if info.Error != nil {
		return nil, fmt.Errorf("%s: %T", info.Name, info.Error.Fault)
	}
	return info.Result, nil
}

func (b *builder) addCluster(ctx context.Context, in *object.Folder, cl Cluster) (hosts []*object.HostSystem, err error) {
	on := true
	cluster, err := in.CreateCluster(ctx, cl.Name, types.ClusterConfigSpecEx{DrsConfig: &types.ClusterDrsConfigInfo{Enabled: &on}})
	if err != nil {
		return nil, err
	}
	for range max(cl.Hosts, 1) {
		b.hosts++
		spec := types.HostConnectSpec{HostName: fmt.Sprintf("esx%d.example.org", b.hosts)}
		t, err := cluster.AddHost(ctx, spec, true, nil, nil)
		result, err := b.done(t, err)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, object.NewHostSystem(b.vim, result.(types.ManagedObjectReference)))
	}
	pool, err := cluster.ResourcePool(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range cl.Pools {
		if _, err := pool.Create(ctx, name, types.DefaultResourceConfigSpec()); err != nil {
			return nil, err
		}
	}
	for _, name := range cl.VMGroups {
		change := &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}},
		}}}
		t, err := cluster.Reconfigure(ctx, change, true)
		if _, err := b.done(t, err); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

func (b *builder) addNetworks(ctx context.Context, in *object.Folder, hosts []*object.HostSystem, names []string) error {
	spec := types.DVSCreateSpec{ConfigSpec: &types.VMwareDVSConfigSpec{}}
	spec.ConfigSpec.GetDVSConfigSpec().Name = "switch"
	t, err := in.CreateDVS(ctx, spec)
	result, err := b.done(t, err)
	if err != nil {
		return err
	}
	dvs := object.NewDistributedVirtualSwitch(b.vim, result.(types.ManagedObjectReference))
	for _, name := range names {
		t, err := dvs.AddPortgroup(ctx, []types.DVPortgroupConfigSpec{{Name: name, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding)}})
		if _, err := b.done(t, err); err != nil {
			return err
		}
	}
	return b.join(ctx, dvs, hosts)
}

// join adds hosts to a switch.
func (b *builder) join(ctx context.Context, dvs *object.DistributedVirtualSwitch, hosts []*object.HostSystem) error {
	for _, h := range hosts {
		t, err := dvs.Reconfigure(ctx, &types.DVSConfigSpec{Host: []types.DistributedVirtualSwitchHostMemberConfigSpec{{
			Operation: string(types.ConfigSpecOperationAdd), Host: h.Reference(),
		}}})
		if _, err := b.done(t, err); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addDatastores(ctx context.Context, in *object.Folder, hosts []*object.HostSystem, d Datacenter) error {
	for _, name := range d.Datastores {
		if _, err := b.addDatastore(ctx, hosts, name); err != nil {
			return fmt.Errorf("datastore %s: %w", name, err)
		}
	}
	for pod, names := range d.Pods {
		p, err := in.CreateStoragePod(ctx, pod)
		if err != nil {
			return err
		}
		spec := types.StorageDrsConfigSpec{PodConfigSpec: &types.StorageDrsPodConfigSpec{Enabled: types.NewBool(true)}}
		t, err := object.NewStorageResourceManager(b.vim).ConfigureStorageDrsForPod(ctx, p, spec, true)
		if _, err := b.done(t, err); err != nil {
			return err
		}
		for _, name := range names {
			ds, err := b.addDatastore(ctx, hosts, name)
			if err != nil {
				return fmt.Errorf("datastore %s: %w", name, err)
			}
			t, err := p.MoveInto(ctx, []types.ManagedObjectReference{ds.Reference()})
			if _, err := b.done(t, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) addDatastore(ctx context.Context, hosts []*object.HostSystem, name string) (ds *object.Datastore, err error) {
	dir, err := os.MkdirTemp("", "vcenter-")
	if err != nil {
		return nil, err
	}
	b.dirs = append(b.dirs, dir)
	for _, h := range hosts {
		s, err := h.ConfigManager().DatastoreSystem(ctx)
		if err != nil {
			return nil, err
		}
		made, err := s.CreateLocalDatastore(ctx, name, dir)
		if err != nil {
			return nil, err
		}
		if ds == nil { // the others get the same one
			ds = made
		}
	}
	return ds, nil
}

const gib = 1 << 20 // in KiB

func (b *builder) addTemplate(ctx context.Context, in *object.Folder, host *object.HostSystem, datastore string, t Template) error {
	pool, err := host.ResourcePool(ctx)
	if err != nil {
		return err
	}
	spec := types.VirtualMachineConfigSpec{
		Name: t.Name, GuestId: t.GuestID, NumCPUs: max(t.CPUs, 1), MemoryMB: max(t.MemoryMiB, 1024), Version: hardware(t),
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + datastore + "]"}, VAppConfig: vApp(t.Properties),
	}
	spec.DeviceChange, err = b.devices(ctx, host, spec.Files.VmPathName+" "+path.Join(t.Name, "disk1.vmdk"), max(t.DiskGiB, 1)*gib)
	if err != nil {
		return err
	}
	task, err := in.CreateVM(ctx, spec, pool, host)
	result, err := b.done(task, err)
	if err != nil {
		return err
	}
	vm := object.NewVirtualMachine(b.vim, result.(types.ManagedObjectReference))
	for _, name := range t.Snapshots {
		task, err := vm.CreateSnapshot(ctx, name, "", false, false)
		if _, err := b.done(task, err); err != nil {
			return err
		}
	}
	return vm.MarkAsTemplate(ctx)
}

func hardware(t Template) string {
	if t.Hardware == "" {
		return "vmx-15"
	}
	return t.Hardware
}

func vApp(properties []string) types.BaseVmConfigSpec {
	if len(properties) == 0 {
		return nil
	}
	spec, yes := &types.VmConfigSpec{}, true
	for i, id := range properties {
		spec.Property = append(spec.Property, types.VAppPropertySpec{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.VAppPropertyInfo{Key: int32(i), Id: id, Type: "string", UserConfigurable: &yes},
		})
	}
	return spec
}

// devices are a controller with a disk, and a network card.
func (b *builder) devices(ctx context.Context, host *object.HostSystem, file string, capacityKiB int64) ([]types.BaseVirtualDeviceConfigSpec, error) {
	var all object.VirtualDeviceList
	scsi, err := all.CreateSCSIController("pvscsi")
	if err != nil {
		return nil, err
	}
	all = append(all, scsi)
	disk := all.CreateDisk(scsi.(types.BaseVirtualController), types.ManagedObjectReference{}, file)
	disk.CapacityInKB, disk.CapacityInBytes = capacityKiB, capacityKiB<<10
	var h mo.HostSystem
	if err := property.DefaultCollector(b.vim).RetrieveOne(ctx, host.Reference(), []string{"network"}, &h); err != nil {
		return nil, err
	}
	backing, err := object.NewReference(b.vim, h.Network[0]).(object.NetworkReference).EthernetCardBackingInfo(ctx)
	if err != nil {
		return nil, err
	}
	nic, err := all.CreateEthernetCard("vmxnet3", backing)
	if err != nil {
		return nil, err
	}
	return append(all, disk, nic).ConfigSpec(types.VirtualDeviceConfigSpecOperationAdd)
}

// find is the object at a path; nil if the path names no object.
func (b *builder) find(ctx context.Context, at string) (*types.ManagedObjectReference, error) {
	r, err := methods.FindByInventoryPath(ctx, b.vim, &types.FindByInventoryPath{This: *b.vim.ServiceContent.SearchIndex, InventoryPath: at})
	if err != nil {
		return nil, err
	}
	return r.Returnval, nil
}
