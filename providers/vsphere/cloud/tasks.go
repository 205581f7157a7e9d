package cloud

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// tasks records this process's unfinished requests to the vCenter, by instance UUID. It is for facts that
// are not visible otherwise: a clone in progress, and why one failed. After a restart the process asks
// again, and the vCenter refuses a second virtual machine of the name.
type tasks struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]*task
}

type task struct {
	ref    ref
	what   string // "clone", "power on", "power off", "destroy", ...
	began  time.Time
	of     provider.Instance // of a clone
	choice provider.Choice   // that a clone was asked for with
	fault  error             // why it failed, to be reported once
}

func (t task) hasFailed() bool { return t.fault != nil }

// memory is how long an unused task is kept.
const memory = time.Hour

func newTasks(clock provider.Clock) *tasks { return &tasks{clock: clock, all: map[string]*task{}} }

func (t *tasks) put(id string, made *task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	maps.DeleteFunc(t.all, func(_ string, old *task) bool { return now.Sub(old.began) > memory })
	made.began = now
	t.all[id] = made
}

// get returns a copy of the task of an instance.
func (t *tasks) get(id string) (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.all[id]
	if !ok {
		return task{}, false
	}
	return *found, true
}

func (t *tasks) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, id)
}

// failed stores why a task failed, if it is still the recorded one.
func (t *tasks) failed(id string, of ref, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.all[id]; ok && found.ref == of {
		found.fault = why
	}
}

// state is the vCenter's state of a task. A task that it has forgotten has ended with an unknown result.
func (c *conn) state(ctx context.Context, of ref) (info types.TaskInfo, known bool, err error) {
	spec := types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: of}}, PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
	}
	for o, err := range c.collect(ctx, spec, 0) {
		if gone(err) {
			return info, false, nil
		}
		if err != nil {
			return info, false, err
		}
		for _, p := range o.PropSet {
			if said, ok := p.Val.(types.TaskInfo); ok {
				return said, true, nil
			}
		}
	}
	return info, false, nil
}

// recent are the latest tasks on virtual machines, by virtual machine, oldest first.
func (c *conn) recent(ctx context.Context, of []*vm) (map[ref][]types.TaskInfo, error) {
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}}}
	yes := true
	for _, v := range of {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: v.ref, Skip: &yes, SelectSet: []types.BaseSelectionSpec{
			&types.TraversalSpec{Type: "VirtualMachine", Path: "recentTask"},
		}})
	}
	all := map[ref][]types.TaskInfo{}
	for o, err := range c.collect(ctx, spec, 0) {
		if gone(err) { // one of the virtual machines: its tasks are not needed
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range o.PropSet {
			if said, ok := p.Val.(types.TaskInfo); ok && said.Entity != nil {
				all[*said.Entity] = append(all[*said.Entity], said)
			}
		}
	}
	return all, nil
}

func running(i types.TaskInfo) bool {
	return i.State == types.TaskInfoStateQueued || i.State == types.TaskInfoStateRunning
}
