package cloud

import (
	"context"
	"encoding/json"
	"fmt"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Power implements [provider.Powerer]. A guest that no longer answers cannot shut down: power is cut. Each
// call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	return s.with(ctx, func(c *conn) error {
		v, err := s.byID(ctx, c, i.ID)
		if err != nil {
			return err
		}
		if v == nil {
			return provider.Errorf(provider.Conflict, "there is no virtual machine with the instance UUID %s", i.ID)
		}
		on := v.power == types.VirtualMachinePowerStatePoweredOn
		switch {
		case op == provider.PowerOff && v.power == types.VirtualMachinePowerStatePoweredOff, op == provider.PowerOn && on:
			return nil
		case op == provider.PowerOff:
			_, err = methods.PowerOffVM_Task(ctx, c.vim, &types.PowerOffVM_Task{This: v.ref})
		case op == provider.Reboot && on:
			_, err = methods.ResetVM_Task(ctx, c.vim, &types.ResetVM_Task{This: v.ref})
		default:
			_, err = initializer{s}.powerOn(ctx, c, v.ref)
		}
		if err != nil {
			return fmt.Errorf("power %s of %s: %w", op, v.name, err)
		}
		return nil
	})
}

// Status implements [provider.Session] with the fields of OpenShift's own provider. The task is the last
// one that this process has begun, for users: the provider does not use it.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	status := machinev1beta1.VSphereMachineProviderStatus{InstanceState: &i.RawState}
	if uuid := biosUUID(i.ProviderID); uuid != "" {
		status.InstanceID = &uuid
	}
	if t, ok := s.provider.tasks.get(i.ID); ok {
		status.TaskRef = t.ref.Value
	}
	if !i.Created.IsZero() {
		status.Conditions = []metav1.Condition{creation(i)}
	}
	return json.Marshal(status)
}

func creation(i provider.Instance) metav1.Condition {
	c := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(i.Created.UTC()),
		Reason: machinev1beta1.MachineCreationSucceededConditionReason, Message: "Machine successfully created",
	}
	if i.Fault != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, machinev1beta1.MachineCreationFailedConditionReason, provider.Clip(i.Fault.Error(), 1<<10)
	}
	return c
}

// Size implements [provider.Sizer] with the size of the spec, or else of the template.
func (s *session) Size(ctx context.Context) (size provider.Size, err error) {
	if s.plan == nil {
		return size, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	size = provider.Size{VCPU: int64(s.plan.cpus), MemoryMiB: s.plan.memoryMiB, Architecture: "amd64", EphemeralStorageMiB: s.plan.diskGiB << 10}
	if size.VCPU > 0 && size.MemoryMiB > 0 {
		return size, nil
	}
	err = s.with(ctx, func(c *conn) error {
		template, err := inventory{s}.templateRef(ctx, c)
		if err != nil {
			return err
		}
		var m mo.VirtualMachine
		if err := property.DefaultCollector(c.vim).RetrieveOne(ctx, template, []string{"config.hardware.numCPU", "config.hardware.memoryMB"}, &m); err != nil {
			return fmt.Errorf("read the size of the template %s: %w", s.plan.template, err)
		}
		if m.Config == nil {
			return provider.Errorf(provider.Conflict, "the template %s is being made", s.plan.template)
		}
		if size.VCPU == 0 {
			size.VCPU = int64(m.Config.Hardware.NumCPU)
		}
		if size.MemoryMiB == 0 {
			size.MemoryMiB = int64(m.Config.Hardware.MemoryMB)
		}
		return nil
	})
	return size, err
}
