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

// starter turns a clone that is powered off into a running machine.
type starter struct{ *session }

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
		if err := (marker{s}).learn(ctx, c, []*vm{v}, &r, marker{s}.tagsOf); err != nil {
			return err
		}
		k, err := reader{s}.knowledge(ctx, c, []*vm{v})
		if err != nil {
			return err
		}
		if !(reader{s}).ours(v, &r) {
			return nil
		}
		if (reader{s}).idle(v, &r, k) {
			return starter{s}.start(ctx, c, v)
		}
		if v.power != types.VirtualMachinePowerStatePoweredOn {
			return nil
		}
		return starter{s}.note(ctx, c, v, k)
	})
}

// byID is the virtual machine with an instance UUID; nil if it does not exist.
func (s *session) byID(ctx context.Context, c *conn, id string) (*vm, error) {
	in, err := inventory{s}.room(ctx, c)
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
func (s starter) start(ctx context.Context, c *conn, v *vm) error {
	if busy, err := s.busy(ctx, c, v, taskPowerOn, taskUpgrade); busy || err != nil {
		return err
	}
	if s.plan.place.upgrade && hardwareVersion(v.hardware) < s.plan.place.hardware && v.hardware != "" {
		return s.begin(v, taskUpgrade, func() (ref, error) {
			version := fmt.Sprintf("vmx-%02d", s.plan.place.hardware)
			r, err := methods.UpgradeVM_Task(ctx, c.vim, &types.UpgradeVM_Task{This: v.ref, Version: version})
			if err != nil {
				return ref{}, err
			}
			return r.Returnval, nil
		})
	}
	if groupOf(s.session, v.extra) != "" {
		in, err := grouper(s).join(ctx, c, v)
		if err != nil || !in {
			return err
		}
	}
	return s.begin(v, taskPowerOn, func() (ref, error) { return s.powerOn(ctx, c, v.ref) })
}

// powerOn lets DRS choose a host, also if DRS is configured to recommend only. Without a datacenter DRS
// cannot be called.
func (s starter) powerOn(ctx context.Context, c *conn, of ref) (ref, error) {
	in, err := inventory(s).room(ctx, c)
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
func (s starter) begin(v *vm, what string, call func() (ref, error)) error {
	t, err := call()
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, v.name, err)
	}
	s.provider.tasks.put(v.instanceUUID, &task{ref: t, what: what})
	return nil
}

// busy reports whether a task on a virtual machine is still running. The failure of a task that matters is
// returned once, and the task may then be tried again.
func (s starter) busy(ctx context.Context, c *conn, v *vm, matters ...string) (bool, error) {
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

// powering is the progress of a virtual machine's first power on.
type powering struct {
	underWay bool
	fault    *provider.Error // a final one
}

// powering reads the task that this process has begun, and the vCenter's recent tasks on the virtual
// machine. A failure that may be temporary is no fault: it is tried again.
func (s reader) powering(ctx context.Context, c *conn, v *vm, recent []types.TaskInfo) (powering, error) {
	t, ok := s.provider.tasks.get(v.instanceUUID)
	if ok && t.what == taskPowerOn {
		info, known, err := c.state(ctx, t.ref)
		if err != nil {
			return powering{}, err
		}
		if known && running(info) {
			return powering{underWay: true}, nil
		}
		if refused := notAttempted(info, v.ref); refused != nil {
			return powering{fault: s.final(refused)}, nil
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
		return powering{}, nil
	case running(last):
		return powering{underWay: true}, nil
	case last.Error != nil:
		return powering{fault: s.final(taskError{last.Error})}, nil
	}
	return powering{}, nil
}

// final returns an error as a fault, if only another spec, other credentials or free capacity can fix it.
func (s reader) final(err error) *provider.Error {
	e, ok := errors.AsType[*provider.Error](narrowed(s.session, classify(err)))
	if !ok || e.Kind != provider.Exhausted && e.Kind != provider.Invalid && e.Kind != provider.Denied {
		return nil
	}
	return e
}

// note records that a virtual machine has started: from then on, a virtual machine that is off was switched
// off.
func (s starter) note(ctx context.Context, c *conn, v *vm, k *knowledge) error {
	if reader(s).noted(v, k) {
		return nil
	}
	if busy, err := s.busy(ctx, c, v, taskOptions); busy || err != nil {
		return err
	}
	return s.write(ctx, c, v, map[string]string{keyStarted: "true"})
}

// write writes options.
func (s starter) write(ctx context.Context, c *conn, v *vm, options map[string]string) error {
	return s.begin(v, taskOptions, func() (ref, error) {
		r, err := methods.ReconfigVM_Task(ctx, c.vim, &types.ReconfigVM_Task{This: v.ref, Spec: types.VirtualMachineConfigSpec{ExtraConfig: listed(options)}})
		if err != nil {
			return ref{}, err
		}
		return r.Returnval, nil
	})
}
