package vcenter

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// supplier creates the objects that requests name.
type supplier struct{ *builder }

// findAny finds objects, and creates missing ones: datacenters and their contents by inventory path, and templates below
// folders, because clients search for templates as children of a folder.
func (b supplier) findAny(own *simulator.Context, index *simulator.SearchIndex, m *simulator.Method) (*types.ManagedObjectReference, bool) {
	ctx := context.Background()
	b.making.Lock()
	defer b.making.Unlock()
	switch req := m.Body.(type) {
	case *types.FindByInventoryPath:
		found, err := b.find(ctx, req.InventoryPath)
		if err == nil && found == nil {
			err = b.provide(ctx, strings.Split(strings.Trim(req.InventoryPath, "/"), "/"))
		}
		if err == nil && found == nil {
			found, err = b.find(ctx, req.InventoryPath)
		}
		return found, err == nil
	case *types.FindChild:
		body, ok := index.FindChild(own, req).(*methods.FindChildBody)
		if ok && body.Res != nil && body.Res.Returnval == nil && req.Entity.Type == "Folder" && b.provideTemplate(ctx, req.Entity, req.Name) == nil {
			body, ok = index.FindChild(own, req).(*methods.FindChildBody)
		}
		if ok && body.Res != nil {
			return body.Res.Returnval, true
		}
	}
	return nil, false
}

// provideCustomization creates a guest customization specification, unless the name exists.
func (b supplier) provideCustomization(name string) {
	b.making.Lock()
	defer b.making.Unlock()
	if there, err := object.NewCustomizationSpecManager(b.vim).DoesCustomizationSpecExist(context.Background(), name); err == nil && !there {
		_ = b.addCustomization(context.Background(), name) // a missing object will be reported
	}
}

func (b supplier) provideTemplate(ctx context.Context, in types.ManagedObjectReference, name string) error {
	ancestors, err := mo.Ancestors(ctx, b.vim, b.vim.ServiceContent.PropertyCollector, in)
	if err != nil {
		return err
	}
	for _, a := range ancestors {
		if a.Self.Type != "Datacenter" {
			continue
		}
		folders, err := object.NewDatacenter(b.vim, a.Self).Folders(ctx)
		if err != nil {
			return err
		}
		hosts, datastores, err := b.hostsOf(ctx, folders.HostFolder)
		if err != nil {
			return err
		}
		return b.addTemplate(ctx, object.NewFolder(b.vim, in), hosts[0], datastores[0], Template{Name: name, CPUs: 2, MemoryMiB: 4096, DiskGiB: 10})
	}
	return fmt.Errorf("%s is in no datacenter", in.Value)
}

// hostsOf are the hosts of all clusters in a folder, and the names of their datastores.
func (b supplier) hostsOf(ctx context.Context, in *object.Folder) (hosts []*object.HostSystem, datastores []string, err error) {
	children, err := in.Children(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, child := range children {
		cluster, ok := child.(*object.ClusterComputeResource)
		if !ok {
			continue
		}
		in, err := cluster.Hosts(ctx)
		if err != nil {
			return nil, nil, err
		}
		hosts = append(hosts, in...)
		on, err := cluster.Datastores(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range on {
			name, err := d.ObjectName(ctx)
			if err != nil {
				return nil, nil, err
			}
			datastores = append(datastores, name)
		}
	}
	if len(hosts) == 0 || len(datastores) == 0 {
		return nil, nil, fmt.Errorf("%s has no host or no datastore", in.Reference().Value)
	}
	return hosts, datastores, nil
}

// provide creates the object at a path: /datacenter, and below it vm, host, datastore or network.
func (b supplier) provide(ctx context.Context, path []string) error {
	ref, err := b.find(ctx, path[0])
	if err == nil && ref == nil {
		if err = b.addDatacenter(ctx, Datacenter{
			Name: path[0], Clusters: []Cluster{{Name: "cluster", Hosts: 2}}, Datastores: []string{"datastore"}, Networks: []string{"network"},
		}); err == nil {
			ref, err = b.find(ctx, path[0])
		}
	}
	if err != nil || len(path) < 3 {
		return err
	}
	folders, err := object.NewDatacenter(b.vim, *ref).Folders(ctx)
	if err != nil {
		return err
	}
	name := path[len(path)-1]
	switch path[1] {
	case "vm":
		return b.addFolder(ctx, folders.VmFolder, strings.Join(path[2:], "/"))
	case "network":
		return b.providePortgroup(ctx, folders.NetworkFolder, name)
	case "datastore":
		hosts, _, err := b.hostsOf(ctx, folders.HostFolder)
		if err != nil {
			return err
		}
		_, err = b.addDatastore(ctx, hosts, name)
		return err
	case "host":
		return b.providePool(ctx, folders.HostFolder, path[2:])
	}
	return fmt.Errorf("nothing is called %s", path[1])
}

// mount mounts the datastores of a datacenter on hosts.
func (b supplier) mount(ctx context.Context, in *object.Folder, hosts []*object.HostSystem) error {
	children, err := in.Children(ctx)
	if err != nil {
		return err
	}
	for _, child := range children {
		ds, ok := child.(*object.Datastore)
		if !ok {
			continue
		}
		var is mo.Datastore
		if err := property.DefaultCollector(b.vim).RetrieveOne(ctx, ds.Reference(), []string{"name", "summary.url"}, &is); err != nil {
			return err
		}
		for _, h := range hosts {
			s, err := h.ConfigManager().DatastoreSystem(ctx)
			if err != nil {
				return err
			}
			if _, err := s.CreateLocalDatastore(ctx, is.Name, is.Summary.Url); err != nil {
				return fmt.Errorf("mount datastore %s: %w", is.Name, err)
			}
		}
	}
	return nil
}

func (b supplier) providePortgroup(ctx context.Context, in *object.Folder, name string) error {
	children, err := in.Children(ctx)
	if err != nil {
		return err
	}
	for _, child := range children {
		if s, ok := child.(*object.DistributedVirtualSwitch); ok {
			t, err := s.AddPortgroup(ctx, []types.DVPortgroupConfigSpec{{Name: name, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding)}})
			_, err = b.done(t, err)
			return err
		}
	}
	return fmt.Errorf("there is no switch for %s", name)
}

// providePool creates the cluster, Resources and the pools below them.
func (b supplier) providePool(ctx context.Context, in *object.Folder, path []string) error {
	index := object.NewSearchIndex(b.vim)
	at, err := index.FindChild(ctx, in, path[0])
	if err != nil {
		return err
	}
	if at == nil {
		// A name without a path may be a cluster, or a resource pool, which is then found below it.
		cluster := Cluster{Name: path[0], Hosts: 2}
		if len(path) == 1 {
			cluster.Pools = []string{path[0]}
		}
		if _, err := b.addCluster(ctx, in, cluster); err != nil {
			return err
		}
		if at, err = index.FindChild(ctx, in, path[0]); err != nil {
			return err
		}
		if err := b.furnishCluster(ctx, in, at); err != nil {
			return err
		}
	}
	for _, name := range path[1:] {
		child, err := index.FindChild(ctx, at, name)
		if err != nil {
			return err
		}
		if pool, ok := at.(*object.ResourcePool); ok && child == nil {
			made, err := pool.Create(ctx, name, types.DefaultResourceConfigSpec())
			if err != nil {
				return err
			}
			child = made
		}
		if at = child; at == nil {
			return fmt.Errorf("%s has no %s", path[0], name)
		}
	}
	return nil
}

// furnishCluster adds the datastores and the switch of the other clusters to a new cluster.
func (b supplier) furnishCluster(ctx context.Context, in *object.Folder, at object.Reference) error {
	hosts, err := object.NewClusterComputeResource(b.vim, at.Reference()).Hosts(ctx)
	if err != nil {
		return err
	}
	var f mo.Folder
	if err := property.DefaultCollector(b.vim).RetrieveOne(ctx, in.Reference(), []string{"parent"}, &f); err != nil {
		return err
	}
	folders, err := object.NewDatacenter(b.vim, *f.Parent).Folders(ctx)
	if err != nil {
		return err
	}
	if err := b.mount(ctx, folders.DatastoreFolder, hosts); err != nil {
		return err
	}
	children, err := folders.NetworkFolder.Children(ctx)
	if err != nil {
		return err
	}
	for _, child := range children {
		if s, ok := child.(*object.DistributedVirtualSwitch); ok {
			return b.join(ctx, s, hosts)
		}
	}
	return nil
}
