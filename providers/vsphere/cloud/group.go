package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// grouper puts virtual machines into a group of their cluster, by which rules keep them on some hosts.
type grouper struct{ *session }

// join reports whether a virtual machine is in the group, and else begins to put it there. A group is changed as a
// whole: two changes at a time would undo each other, so this process makes one after the other, and each is seen before
// power is switched on.
func (s grouper) join(ctx context.Context, c *conn, of ref) (bool, error) {
	cluster, group, err := s.group(ctx, c)
	if err != nil {
		return false, err
	}
	if slices.Contains(group.Vm, of) {
		return true, nil
	}
	return false, s.change(ctx, c, cluster, append(slices.Clone(group.Vm), of))
}

// leave takes a virtual machine out of the group, and reports whether it is out.
func (s grouper) leave(ctx context.Context, c *conn, of ref) (bool, error) {
	cluster, group, err := s.group(ctx, c)
	if provider.KindOf(err) == provider.Invalid { // without a group, it is in none
		return true, nil
	}
	if err != nil || !slices.Contains(group.Vm, of) {
		return err == nil, err
	}
	return false, s.change(ctx, c, cluster, slices.DeleteFunc(slices.Clone(group.Vm), func(r ref) bool { return r == of }))
}

func (s grouper) group(ctx context.Context, c *conn) (*object.ClusterComputeResource, *types.ClusterVmGroup, error) {
	pool, err := inventory(s).place(ctx, c, pools, s.plan.place.pool, "workspace.resourcePool")
	if err != nil {
		return nil, nil, err
	}
	owner, err := c.ownerOf(ctx, pool)
	if err != nil {
		return nil, nil, err
	}
	field, name := s.plan.field("workspace.vmGroup"), s.plan.place.vmGroup
	if owner.Type != "ClusterComputeResource" {
		return nil, nil, provider.InvalidField(field, "the resource pool is on a single host, which has no groups")
	}
	cluster := object.NewClusterComputeResource(c.vim, owner)
	config, err := cluster.Configuration(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read the groups of the cluster: %w", err)
	}
	for _, g := range config.Group {
		if group, ok := g.(*types.ClusterVmGroup); ok && group.Name == name {
			return cluster, group, nil
		}
	}
	return nil, nil, provider.InvalidField(field, "the cluster has no group of virtual machines %q", name)
}

func (s grouper) change(ctx context.Context, c *conn, cluster *object.ClusterComputeResource, to []ref) error {
	name := s.plan.place.vmGroup
	key := "group " + name + " of " + cluster.Reference().Value
	if t, ok := s.provider.tasks.get(key); ok {
		info, known, err := c.state(ctx, t.ref)
		if err != nil {
			return err
		}
		if known && running(info) {
			return provider.Errorf(provider.Conflict, "the group %s is being changed for another machine", name)
		}
		s.provider.tasks.forget(key)
		if known && info.Error != nil {
			return fmt.Errorf("change the group %s: %w", name, taskError{info.Error})
		}
	}
	task, err := cluster.Reconfigure(ctx, &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
		Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Vm: to},
	}}}, true)
	if err != nil {
		return fmt.Errorf("change the group %s: %w", name, err)
	}
	s.provider.tasks.put(key, newTask(task.Reference()))
	return nil
}

func newTask(r ref) *task { return &task{ref: r, what: "change a group"} }
