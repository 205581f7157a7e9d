package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/provider"
)

// initializer turns a clone that is powered off into a running machine.
type initializer struct{ *session }

// Initialize implements [provider.Initializer]: it takes the steps that a clone still needs, each after the
// one before has shown its effect: newer virtual hardware, the group of virtual machines, power, and a note
// that it has started. Tags and attributes are left to Maintain: the machine works without them.
func (s *session) Initialize(ctx context.Context, r provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	return s.with(ctx, func(c *conn) error {
		v, err := s.byID(ctx, c, i.ID)
		if err != nil || v == nil {
			return err
		}
		if err := (tagger{s}).readTags(ctx, c, []*vm{v}, &r, tagger{s}.tagsOf); err != nil {
			return err
		}
		k, err := finder{s}.describeInput(ctx, c, []*vm{v})
		if err != nil {
			return err
		}
		if !(finder{s}).ours(v, &r) {
			return nil
		}
		if (finder{s}).idle(v, &r, k) {
			return initializer{s}.start(ctx, c, v)
		}
		if v.power != types.VirtualMachinePowerStatePoweredOn {
			return nil
		}
		return initializer{s}.note(ctx, c, v, k)
	})
}

// byID is the virtual machine with an instance UUID; nil if it does not exist.
func (s *session) byID(ctx context.Context, c *conn, id string) (*vm, error) {
	in, err := inventory{s}.searchScope(ctx, c)
	if err != nil || id == "" {
		return nil, err
	}
	refs, err := c.byUUID(ctx, in.datacenter, id, true)
	if err != nil {
		return nil, err
	}
	all, err := c.read(ctx, refs)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// start powers on.
func (s initializer) start(ctx context.Context, c *conn, v *vm) error {
	if busy, err := s.busy(ctx, c, v, taskPowerOn, taskUpgrade); busy || err != nil {
		return err
	}
	if s.plan.placement.upgrade && hardwareVersion(v.hardware) < s.plan.placement.hardware && v.hardware != "" {
		return s.begin(v, taskUpgrade, func() (ref, error) {
			version := fmt.Sprintf("vmx-%02d", s.plan.placement.hardware)
			r, err := methods.UpgradeVM_Task(ctx, c.vim, &types.UpgradeVM_Task{This: v.ref, Version: version})
			if err != nil {
				return ref{}, err
			}
			return r.Returnval, nil
		})
	}
	if groupOf(s.session, v.extra) != "" {
		in, err := vmGroups(s).join(ctx, c, v)
		if err != nil || !in {
			return err
		}
	}
	return s.begin(v, taskPowerOn, func() (ref, error) { return s.powerOn(ctx, c, v.ref) })
}

// powerOn lets DRS choose a host, also if DRS is configured to recommend only. Without a datacenter DRS
// cannot be called.
func (s initializer) powerOn(ctx context.Context, c *conn, of ref) (ref, error) {
	in, err := inventory(s).searchScope(ctx, c)
	if err != nil {
		return ref{}, err
	}
	if in.datacenter == nil {
		r, err := methods.PowerOnVM_Task(ctx, c.vim, &types.PowerOnVM_Task{This: of})
		if err != nil {
			return ref{}, err
		}
		return r.Returnval, nil
	}
	r, err := methods.PowerOnMultiVM_Task(ctx, c.vim, &types.PowerOnMultiVM_Task{This: *in.datacenter, Vm: []ref{of}, Option: []types.BaseOptionValue{
		&types.OptionValue{Key: string(types.ClusterPowerOnVmOptionOverrideAutomationLevel), Value: string(types.DrsBehaviorFullyAutomated)},
	}})
	if err != nil {
		return ref{}, err
	}
	return r.Returnval, nil
}

// begin begins a task on a virtual machine and records it.
func (s initializer) begin(v *vm, what string, call func() (ref, error)) error {
	t, err := call()
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, v.name, err)
	}
	s.provider.tasks.put(v.instanceUUID, &task{ref: t, what: what})
	return nil
}

// busy reports whether a task on a virtual machine is still running. The failure of a task that matters is
// returned once, and the task may then be tried again.
func (s initializer) busy(ctx context.Context, c *conn, v *vm, matters ...string) (bool, error) {
	t, ok := s.provider.tasks.get(v.instanceUUID)
	if !ok || t.what == taskClone {
		return false, nil
	}
	if shows(t.what, v) {
		s.provider.tasks.forget(v.instanceUUID)
		return false, nil
	}
	info, known, err := c.state(ctx, t.ref)
	switch {
	case err != nil:
		return false, err
	case known && running(info):
		return true, nil
	}
	s.provider.tasks.forget(v.instanceUUID)
	if !slices.Contains(matters, t.what) {
		return false, nil
	}
	if known && info.Error != nil && !harmless(info.Error.Fault) {
		return false, fmt.Errorf("%s of %s: %w", t.what, v.name, taskError{info.Error})
	}
	if refused := notAttempted(info, v.ref); refused != nil {
		return false, fmt.Errorf("%s of %s: %w", t.what, v.name, refused)
	}
	return false, nil
}

// shows reports whether a virtual machine shows the effect of a task, so that the task need not be read.
func shows(what string, v *vm) bool {
	switch what {
	case taskPowerOn:
		return v.power == types.VirtualMachinePowerStatePoweredOn
	case taskPowerOff:
		return v.power == types.VirtualMachinePowerStatePoweredOff
	}
	return false
}

// harmless reports whether a task failed because it had nothing to do.
func harmless(fault types.BaseMethodFault) bool {
	switch fault.(type) {
	case *types.InvalidPowerState, *types.AlreadyUpgraded, *types.ManagedObjectNotFound:
		return true
	}
	return false
}

// notAttempted is the reason why DRS has found no host for a virtual machine: the task itself does not fail
// then.
func notAttempted(info types.TaskInfo, of ref) error {
	result, ok := info.Result.(types.ClusterPowerOnVmResult)
	if !ok {
		return nil
	}
	for _, n := range result.NotAttempted {
		if n.Vm == of {
			return taskError{&n.Fault}
		}
	}
	return nil
}

// powerOnTask is the progress of a virtual machine's first power on.
type powerOnTask struct {
	underWay bool
	fault    *provider.Error // a final one
}

// powerOnTask reads the task that this process has begun, and the vCenter's recent tasks on the virtual
// machine. A failure that may be temporary is no fault: it is tried again.
func (s finder) powerOnTask(ctx context.Context, c *conn, v *vm, recent []types.TaskInfo) (powerOnTask, error) {
	t, ok := s.provider.tasks.get(v.instanceUUID)
	if ok && t.what == taskPowerOn {
		info, known, err := c.state(ctx, t.ref)
		if err != nil {
			return powerOnTask{}, err
		}
		if known && running(info) {
			return powerOnTask{underWay: true}, nil
		}
		if refused := notAttempted(info, v.ref); refused != nil {
			return powerOnTask{fault: s.final(refused)}, nil
		}
	}
	last := types.TaskInfo{}
	for _, info := range recent {
		if strings.Contains(strings.ToLower(info.DescriptionId), "poweron") && !info.QueueTime.Before(last.QueueTime) {
			last = info
		}
	}
	switch {
	case last.State == "":
		return powerOnTask{}, nil
	case running(last):
		return powerOnTask{underWay: true}, nil
	case last.Error != nil:
		return powerOnTask{fault: s.final(taskError{last.Error})}, nil
	}
	return powerOnTask{}, nil
}

// final returns an error as a fault, if only another spec, other credentials or free capacity can fix it.
func (s finder) final(err error) *provider.Error {
	e, ok := errors.AsType[*provider.Error](narrowed(s.session, classify(err)))
	if !ok || e.Kind != provider.Exhausted && e.Kind != provider.Invalid && e.Kind != provider.Denied {
		return nil
	}
	return e
}

// note records that a virtual machine has started: from then on, a virtual machine that is off was switched
// off.
func (s initializer) note(ctx context.Context, c *conn, v *vm, k *describeInput) error {
	if finder(s).noted(v, k) {
		return nil
	}
	if busy, err := s.busy(ctx, c, v, taskOptions); busy || err != nil {
		return err
	}
	return s.write(ctx, c, v, map[string]string{keyStarted: "true"})
}

// write writes options.
func (s initializer) write(ctx context.Context, c *conn, v *vm, options map[string]string) error {
	return s.begin(v, taskOptions, func() (ref, error) {
		r, err := methods.ReconfigVM_Task(ctx, c.vim, &types.ReconfigVM_Task{This: v.ref, Spec: types.VirtualMachineConfigSpec{ExtraConfig: listed(options)}})
		if err != nil {
			return ref{}, err
		}
		return r.Returnval, nil
	})
}
