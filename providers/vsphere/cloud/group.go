package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// vmGroups manages the membership of virtual machines in a group of their cluster, by which rules keep them
// on some hosts.
type vmGroups struct{ *session }

// groupOf is the group of an instance with these options: the one that it was created with, which a
// fallback of the spec may have chosen. The group of another implementation's instance is the spec's.
func groupOf(s *session, options map[string]string) string {
	if name := options[keyGroup]; name != "" || options[keyTemplate] != "" || s.plan == nil {
		return name
	}
	return s.plan.placement.vmGroup
}

// join reports whether a virtual machine is in its group, and otherwise begins to add it, or returns why it
// cannot yet.
func (s vmGroups) join(ctx context.Context, c *conn, v *vm) (bool, error) {
	return s.turn(ctx, c, v, true)
}

// has reports whether a virtual machine was in its group within the last minute.
func (s vmGroups) has(ctx context.Context, c *conn, v *vm) (bool, error) {
	key := strings.Join([]string{"members of", groupOf(s.session, v.extra), "at", hostOf(v).Value}, " ")
	members, err := remember(ctx, c.memo, key, func() ([]ref, error) {
		_, group, err := s.group(ctx, c, v)
		if err != nil {
			return nil, err
		}
		return group.Vm, nil
	})
	if err != nil || slices.Contains(members, v.ref) {
		return err == nil, err
	}
	c.memo.Forget(key) // it is about to change
	return false, nil
}

// leave removes a virtual machine from its group, and reports whether it has left.
func (s vmGroups) leave(ctx context.Context, c *conn, v *vm) (bool, error) {
	out, err := s.turn(ctx, c, v, false)
	if provider.KindOf(err) == provider.Invalid { // without a group, it has left
		return true, nil
	}
	return out, err
}

// turn reports whether a virtual machine is in its group, or has left it, as wanted, and otherwise begins
// the change. A group is changed as a whole: two changes at a time would undo each other. So each change
// reads the group again, while no other caller of this process changes it and no change is in progress.
// Power is switched on only after the change is visible.
func (s vmGroups) turn(ctx context.Context, c *conn, v *vm, wanted bool) (bool, error) {
	owner, err := c.clusterOf(ctx, v)
	if err != nil {
		return false, err
	}
	key := strings.Join([]string{"group", groupOf(s.session, v.extra), "of", owner.Value, "at", s.target.server}, " ")
	done, err := s.provider.locks.take(ctx, key)
	if err != nil {
		return false, err
	}
	defer done()
	busy, failed, err := s.changing(ctx, c, key)
	if busy || err != nil {
		return false, err
	}
	cluster, group, err := s.group(ctx, c, v)
	if err != nil {
		return false, err
	}
	switch in := slices.Contains(group.Vm, v.ref); {
	case in == wanted:
		return true, nil
	case failed != nil:
		return false, fmt.Errorf("change the group %s: %w", group.Name, failed)
	}
	to := slices.DeleteFunc(slices.Clone(group.Vm), func(r ref) bool { return r == v.ref })
	if wanted {
		to = append(to, v.ref)
	}
	return false, s.change(ctx, cluster, key, group.Name, to)
}

// changing reports whether a change of a group is in progress, and why the last one failed.
func (s vmGroups) changing(ctx context.Context, c *conn, key string) (busy bool, failed, err error) {
	t, ok := s.provider.tasks.get(key)
	if !ok {
		return false, nil, nil
	}
	info, known, err := c.state(ctx, t.ref)
	if err != nil || known && running(info) {
		return err == nil, nil, err
	}
	s.provider.tasks.forget(key)
	if known && info.Error != nil {
		failed = taskError{info.Error}
	}
	return false, failed, nil
}

// group is that of a virtual machine, in the cluster of its host.
func (s vmGroups) group(ctx context.Context, c *conn, v *vm) (*object.ClusterComputeResource, *types.ClusterVmGroup, error) {
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
	return remember(ctx, c.memo, "cluster of "+host.Value, func() (ref, error) {
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

func (s vmGroups) change(ctx context.Context, cluster *object.ClusterComputeResource, key, name string, to []ref) error {
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

// keyLocks serializes operations by key.
type keyLocks struct {
	mu  sync.Mutex
	all map[string]chan struct{}
}

func newKeyLocks() *keyLocks { return &keyLocks{all: map[string]chan struct{}{}} }

// take waits until all earlier callers for a key are done, and returns a function that ends the caller's
// turn.
func (t *keyLocks) take(ctx context.Context, key string) (done func(), err error) {
	t.mu.Lock()
	turn, ok := t.all[key]
	if !ok {
		turn = make(chan struct{}, 1)
		t.all[key] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
