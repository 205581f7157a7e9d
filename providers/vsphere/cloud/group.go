package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// grouper puts virtual machines into a group of their cluster, by which rules keep them on some hosts.
type grouper struct{ *session }

// groupOf is the group that an instance with these options belongs in: the one that it was made with, which a fallback of
// the spec may have chosen. What another has made belongs in the spec's.
func groupOf(s *session, options map[string]string) string {
	if name := options[keyGroup]; name != "" || options[keyTemplate] != "" || s.plan == nil {
		return name
	}
	return s.plan.place.vmGroup
}

// join reports whether a virtual machine is in its group, and else begins to put it there. A group is changed as a
// whole: two changes at a time would undo each other, so this process makes one after the other, and each is seen before
// power is switched on.
func (s grouper) join(ctx context.Context, c *conn, v *vm) (bool, error) {
	cluster, group, err := s.group(ctx, c, v)
	if err != nil {
		return false, err
	}
	if slices.Contains(group.Vm, v.ref) {
		return true, nil
	}
	return false, s.change(ctx, c, cluster, group.Name, append(slices.Clone(group.Vm), v.ref))
}

// has reports whether a virtual machine was in its group within the last minute.
func (s grouper) has(ctx context.Context, c *conn, v *vm) (bool, error) {
	key := strings.Join([]string{"members of", groupOf(s.session, v.extra), "at", hostOf(v).Value}, " ")
	members, err := remember(c.memo, key, func() ([]ref, error) {
		_, group, err := s.group(ctx, c, v)
		if err != nil {
			return nil, err
		}
		return group.Vm, nil
	})
	if err != nil || slices.Contains(members, v.ref) {
		return err == nil, err
	}
	c.memo.drop(key) // it is about to change
	return false, nil
}

// leave takes a virtual machine out of its group, and reports whether it is out.
func (s grouper) leave(ctx context.Context, c *conn, v *vm) (bool, error) {
	cluster, group, err := s.group(ctx, c, v)
	if provider.KindOf(err) == provider.Invalid { // without a group, it is in none
		return true, nil
	}
	if err != nil || !slices.Contains(group.Vm, v.ref) {
		return err == nil, err
	}
	return false, s.change(ctx, c, cluster, group.Name, slices.DeleteFunc(slices.Clone(group.Vm), func(r ref) bool { return r == v.ref }))
}

// group is that of a virtual machine, in the cluster of its host.
func (s grouper) group(ctx context.Context, c *conn, v *vm) (*object.ClusterComputeResource, *types.ClusterVmGroup, error) {
	owner, err := c.clusterOf(ctx, v)
	if err != nil {
		return nil, nil, err
	}
	field, name := "workspace.vmGroup", groupOf(s.session, v.extra)
	if owner.Type != "ClusterComputeResource" {
		return nil, nil, provider.InvalidField(field, "the virtual machine is on a single host, which has no groups")
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

// clusterOf is the cluster, or the single host's own, that a virtual machine is in.
func (c *conn) clusterOf(ctx context.Context, v *vm) (ref, error) {
	host := hostOf(v)
	if host.Value == "" {
		return ref{}, provider.Errorf(provider.Conflict, "the vCenter does not say on which host %s is", v.name)
	}
	return remember(c.memo, "cluster of "+host.Value, func() (ref, error) {
		var h mo.HostSystem
		if err := property.DefaultCollector(c.vim).RetrieveOne(ctx, host, []string{"parent"}, &h); err != nil {
			return ref{}, fmt.Errorf("find the cluster of a host: %w", err)
		}
		if h.Parent == nil {
			return ref{}, provider.Errorf(provider.Denied, "the cluster of the host of %s is not shown to this user", v.name)
		}
		return *h.Parent, nil
	})
}

func (s grouper) change(ctx context.Context, c *conn, cluster *object.ClusterComputeResource, name string, to []ref) error {
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
