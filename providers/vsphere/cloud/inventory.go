package cloud

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// inventory finds the objects that a spec names.
type inventory struct{ *session }

// searchScope is the area of a search for virtual machines: a datacenter or, if no spec names one, the whole
// vCenter.
type searchScope struct {
	datacenter *ref
	path       string // of the datacenter
	folder     ref    // of its virtual machines
}

func (s inventory) searchScope(ctx context.Context, c *conn) (searchScope, error) {
	if s.plan == nil {
		return searchScope{folder: c.vim.ServiceContent.RootFolder}, nil
	}
	name, field := s.plan.placement.datacenter, s.plan.field("workspace.datacenter")
	return remember(ctx, c.memo, "datacenter "+name, func() (searchScope, error) {
		dc, err := c.datacenter(ctx, name, field)
		if err != nil {
			return searchScope{}, err
		}
		folders, err := dc.Folders(ctx)
		if err != nil {
			return searchScope{}, err
		}
		r := dc.Reference()
		return searchScope{datacenter: &r, path: dc.InventoryPath, folder: folders.VmFolder.Reference()}, nil
	})
}

func (c *conn) datacenter(ctx context.Context, name, field string) (*object.Datacenter, error) {
	if name != "" {
		at := "/" + strings.Trim(name, "/")
		found, err := c.at(ctx, at, "Datacenter")
		if err != nil {
			return nil, err
		}
		if found != nil {
			dc := object.NewDatacenter(c.vim, *found)
			dc.InventoryPath = at
			return dc, nil
		}
	}
	dc, err := find.NewFinder(c.vim).DatacenterOrDefault(ctx, name)
	return dc, misplaced(err, field, "datacenter", name)
}

// at is the inventory's object at a path, if it has one of the kinds.
func (c *conn) at(ctx context.Context, path string, kinds ...string) (*ref, error) {
	r, err := methods.FindByInventoryPath(ctx, c.vim, &types.FindByInventoryPath{This: *c.vim.ServiceContent.SearchIndex, InventoryPath: path})
	if err != nil || r.Returnval == nil {
		return nil, err
	}
	for _, kind := range kinds {
		if r.Returnval.Type == kind {
			return r.Returnval, nil
		}
	}
	return nil, nil
}

// inventoryFolder is one of the four parts of a datacenter.
type inventoryFolder struct {
	what  string // for people
	below string // the part
	kinds []string
	find  func(context.Context, *find.Finder, string) (object.Reference, error)
}

var (
	folders = inventoryFolder{"folder", "vm", []string{"Folder"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.FolderOrDefault(ctx, name)
	}}
	datastores = inventoryFolder{"datastore", "datastore", []string{"Datastore"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.DatastoreOrDefault(ctx, name)
	}}
	pods = inventoryFolder{"datastore cluster", "datastore", []string{"StoragePod"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.DatastoreCluster(ctx, name)
	}}
	pools = inventoryFolder{"resource pool", "host", []string{"ResourcePool", "VirtualApp"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.ResourcePoolOrDefault(ctx, name)
	}}
	clusters = inventoryFolder{"compute cluster", "host", []string{"ClusterComputeResource"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.ClusterComputeResource(ctx, name)
	}}
	hosts = inventoryFolder{"host", "host", []string{"HostSystem"}, func(ctx context.Context, f *find.Finder, name string) (object.Reference, error) {
		return f.HostSystem(ctx, name)
	}}
)

// lookUp finds an object by its inventory path, or by a name, as the original does. The error names the
// field.
func (s inventory) lookUp(ctx context.Context, c *conn, on inventoryFolder, name, field string) (ref, error) {
	in, err := s.searchScope(ctx, c)
	if err != nil {
		return ref{}, err
	}
	return remember(ctx, c.memo, on.what+" "+name+" in "+in.path, func() (ref, error) {
		at := name
		if name != "" && !strings.HasPrefix(name, "/") {
			at = path.Join(in.path, on.below, name)
		}
		if name != "" {
			found, err := c.at(ctx, at, on.kinds...)
			if err != nil {
				return ref{}, err
			}
			if found != nil {
				return *found, nil
			}
		}
		dc := object.NewDatacenter(c.vim, *in.datacenter)
		dc.InventoryPath = in.path
		found, err := on.find(ctx, find.NewFinder(c.vim).SetDatacenter(dc), name)
		if err != nil {
			return ref{}, misplaced(err, s.plan.field(field), on.what, name)
		}
		return found.Reference(), nil
	})
}

// templateRef finds the template: by inventory path, by name, or, in OpenShift's API, by instance UUID.
func (s inventory) templateRef(ctx context.Context, c *conn) (ref, error) {
	in, err := s.searchScope(ctx, c)
	if err != nil {
		return ref{}, err
	}
	name, field := s.plan.template, s.plan.field("template")
	return remember(ctx, c.memo, "template "+name+" in "+in.path, func() (ref, error) {
		if uuid := strings.ToLower(name); uuidShape.MatchString(uuid) {
			found, err := c.byUUID(ctx, in.datacenter, uuid, true)
			if err != nil || len(found) > 0 {
				return first(found), err
			}
		}
		found, err := c.child(ctx, in, name)
		if err != nil {
			return ref{}, err
		}
		if found != nil {
			return *found, nil
		}
		dc := object.NewDatacenter(c.vim, *in.datacenter)
		dc.InventoryPath = in.path
		vm, err := find.NewFinder(c.vim).SetDatacenter(dc).VirtualMachine(ctx, name)
		if err != nil {
			return ref{}, misplaced(err, field, "template", name)
		}
		return vm.Reference(), nil
	})
}

func first(all []ref) ref {
	if len(all) == 0 {
		return ref{}
	}
	return all[0]
}

// child is the virtual machine of a name in the folder that its path names, or in that of the datacenter.
func (c *conn) child(ctx context.Context, in searchScope, name string) (*ref, error) {
	folder := in.folder
	if dir := path.Dir(name); dir != "." {
		if !strings.HasPrefix(dir, "/") {
			dir = path.Join(in.path, "vm", dir)
		}
		found, err := c.at(ctx, dir, "Folder")
		if err != nil || found == nil {
			return nil, err
		}
		folder = *found
	}
	r, err := methods.FindChild(ctx, c.vim, &types.FindChild{This: *c.vim.ServiceContent.SearchIndex, Entity: folder, Name: path.Base(name)})
	if err != nil || r.Returnval == nil || r.Returnval.Type != "VirtualMachine" {
		return nil, err
	}
	return r.Returnval, nil
}

// clonePlacement is the placement of a clone.
type clonePlacement struct {
	folder, pool    ref
	datastore, host *ref
}

// clonePlacement finds the objects of the placement in the spec. For the omitted ones the vCenter makes
// recommendations when the request for the clone is complete: see [inventory.recommend].
func (s inventory) clonePlacement(ctx context.Context, c *conn) (at clonePlacement, err error) {
	p := s.plan.placement
	if at.folder, err = s.lookUp(ctx, c, folders, p.folder, "workspace.folder"); err != nil {
		return at, err
	}
	if at.pool, at.host, err = s.hostAndPool(ctx, c); err != nil {
		return at, err
	}
	if p.datastore != "" || p.pod == "" && !p.allDatastoresOfTheCluster {
		datastore, err := s.lookUp(ctx, c, datastores, p.datastore, "workspace.datastore")
		if err != nil {
			return at, err
		}
		at.datastore = &datastore
	}
	return at, nil
}

func (s inventory) hostAndPool(ctx context.Context, c *conn) (pool ref, host *ref, err error) {
	p := s.plan.placement
	switch {
	case p.host != "":
		h, err := s.lookUp(ctx, c, hosts, p.host, "hostSystem")
		if err != nil {
			return pool, nil, err
		}
		pool, err = remember(ctx, c.memo, "pool of "+h.Value, func() (ref, error) {
			found, err := object.NewHostSystem(c.vim, h).ResourcePool(ctx)
			if err != nil {
				return ref{}, err
			}
			return found.Reference(), nil
		})
		return pool, &h, err
	case p.computeCluster != "" && p.pool == "":
		cluster, err := s.lookUp(ctx, c, clusters, p.computeCluster, "computeCluster")
		if err != nil {
			return pool, nil, err
		}
		pool, err = remember(ctx, c.memo, "pool of "+cluster.Value, func() (ref, error) {
			found, err := object.NewClusterComputeResource(c.vim, cluster).ResourcePool(ctx)
			if err != nil {
				return ref{}, err
			}
			return found.Reference(), nil
		})
		return pool, nil, err
	}
	pool, err = s.lookUp(ctx, c, pools, p.pool, "workspace.resourcePool")
	return pool, nil, err
}

// ownerOf is the cluster, or the single host, of a resource pool.
func (c *conn) ownerOf(ctx context.Context, pool ref) (ref, error) {
	return remember(ctx, c.memo, "owner of "+pool.Value, func() (ref, error) {
		owner, err := object.NewResourcePool(c.vim, pool).Owner(ctx)
		if err != nil {
			return ref{}, fmt.Errorf("find the cluster of a resource pool: %w", err)
		}
		return owner.Reference(), nil
	})
}

// recommend lets the vCenter choose a datastore of a cluster of datastores, or of those that a compute
// cluster has.
func (s inventory) recommend(ctx context.Context, c *conn, template ref, name string, clone *types.VirtualMachineCloneSpec) error {
	p := s.plan.placement
	switch {
	case clone.Location.Datastore != nil:
		return nil
	case p.pod != "":
		return s.recommendOf(ctx, c, template, name, clone)
	}
	cluster, err := c.ownerOf(ctx, *clone.Location.Pool)
	if err != nil {
		return err
	}
	result, err := object.NewClusterComputeResource(c.vim, cluster).PlaceVm(ctx, types.PlacementSpec{
		PlacementType: string(types.PlacementSpecPlacementTypeClone), CloneName: name, CloneSpec: clone, RelocateSpec: &clone.Location, Vm: &template,
	})
	if err != nil {
		return fmt.Errorf("ask for a host and a datastore: %w", err)
	}
	for _, r := range result.Recommendations {
		for _, a := range r.Action {
			if placement, ok := a.(*types.PlacementAction); ok && placement.RelocateSpec != nil && placement.RelocateSpec.Datastore != nil {
				clone.Location.Datastore, clone.Location.Host = placement.RelocateSpec.Datastore, placement.RelocateSpec.Host
				return nil
			}
		}
	}
	return provider.ExhaustedIn(provider.ScopeZone, "the vCenter recommends no host and datastore of the compute cluster %q", p.computeCluster)
}

func (s inventory) recommendOf(ctx context.Context, c *conn, template ref, name string, clone *types.VirtualMachineCloneSpec) error {
	pod, err := s.lookUp(ctx, c, pods, s.plan.placement.pod, "datastoreCluster")
	if err != nil {
		return err
	}
	// Some recommend only datastores that are listed.
	for _, listed := range [][]types.VmPodConfigForPlacement{nil, {{StoragePod: pod}}} {
		result, err := object.NewStorageResourceManager(c.vim).RecommendDatastores(ctx, types.StoragePlacementSpec{
			Folder: clone.Location.Folder, Vm: &template, CloneName: name, CloneSpec: clone, Type: string(types.StoragePlacementSpecPlacementTypeClone),
			PodSelectionSpec: types.StorageDrsPodSelectionSpec{StoragePod: &pod, InitialVmConfig: listed},
		})
		if err != nil {
			return fmt.Errorf("ask for a datastore: %w", err)
		}
		for _, r := range result.Recommendations {
			for _, a := range r.Action {
				if placement, ok := a.(*types.StoragePlacementAction); ok {
					clone.Location.Datastore = &placement.Destination
					return nil
				}
			}
		}
	}
	return provider.ExhaustedIn(provider.ScopeType, "the vCenter recommends no datastore of the datastore cluster %q", s.plan.placement.pod)
}
