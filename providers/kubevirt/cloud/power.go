package cloud

import (
	"context"
	"fmt"
	"strings"

	kubevirt "kubevirt.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

var _ provider.Powerer = &session{}

// Power implements [provider.Powerer]. It writes only virtual machines and their instances, so the
// credentials need no permission for KubeVirt's subresources.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	c := call{s, client}
	switch op {
	case provider.PowerOn:
		err = c.run(ctx, i, kubevirt.RunStrategyAlways)
	case provider.PowerOff:
		err = c.run(ctx, i, kubevirt.RunStrategyHalted)
	case provider.Reboot:
		err = c.reboot(ctx, i, request)
	default:
		return provider.Errorf(provider.Invalid, "KubeVirt has no power operation %q", op)
	}
	if err != nil {
		return fmt.Errorf("power %s of virtual machine %s of %s: %w", op, i.ID, ref.Name, s.observe(err))
	}
	return nil
}

// gone is the error of an operation on a deleted virtual machine.
func gone(i provider.Instance) error {
	return provider.Errorf(provider.Conflict, "virtual machine %s does not exist", i.ID)
}

// run tells KubeVirt whether to run a virtual machine. The original provider may have used another field for
// this, which must be unset.
func (c call) run(ctx context.Context, i provider.Instance, strategy kubevirt.VirtualMachineRunStrategy) error {
	return c.change(ctx, i, map[string]any{"spec": map[string]any{"running": nil, "runStrategy": strategy}})
}

func (c call) change(ctx context.Context, i provider.Instance, merge map[string]any) error {
	_, err := virtualMachines.Patch(ctx, c.client, c.client.Namespace, i.ID, merge)
	if kubeapi.IsGone(err) {
		return gone(i)
	}
	return err
}

// reboot deletes the instance, which KubeVirt creates again. First it stores the request with the UID of the
// instance to delete: a repeated request deletes the same instance, if it still exists, and no other.
func (c call) reboot(ctx context.Context, i provider.Instance, request string) error {
	v, err := virtualMachines.Get(ctx, c.client, c.client.Namespace, i.ID)
	if err != nil {
		return err
	}
	if v == nil || v.DeletionTimestamp != nil {
		return gone(i)
	}
	running, err := instances.Get(ctx, c.client, c.client.Namespace, i.ID)
	if err != nil {
		return err
	}
	ends := ""
	if running != nil {
		ends = string(running.UID)
	}
	before, of, _ := strings.Cut(v.Annotations[annotationReboot], " ")
	if request != "" && before == request {
		if ends == "" || of != ends {
			return nil
		}
		return instances.Remove(ctx, c.client, c.client.Namespace, i.ID, running.UID)
	}
	merge := map[string]any{}
	if request != "" {
		merge["metadata"] = map[string]any{"annotations": map[string]any{annotationReboot: request + " " + ends}}
	}
	if !wanted(v) {
		merge["spec"] = map[string]any{"running": nil, "runStrategy": kubevirt.RunStrategyAlways}
	}
	if len(merge) > 0 {
		if err := c.change(ctx, i, merge); err != nil {
			return err
		}
	}
	if running == nil {
		return nil
	}
	return instances.Remove(ctx, c.client, c.client.Namespace, i.ID, running.UID)
}
