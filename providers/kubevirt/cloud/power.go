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

// Power implements [provider.Powerer]. Nothing but virtual machines and their instances is written, so that no right to the
// subresources of KubeVirt is needed.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	e := errand{s, c}
	switch op {
	case provider.PowerOn:
		err = e.run(ctx, i, kubevirt.RunStrategyAlways)
	case provider.PowerOff:
		err = e.run(ctx, i, kubevirt.RunStrategyHalted)
	case provider.Reboot:
		err = e.reboot(ctx, i, request)
	default:
		return provider.Errorf(provider.Invalid, "KubeVirt has no power operation %q", op)
	}
	if err != nil {
		return fmt.Errorf("power %s of virtual machine %s of %s: %w", op, i.ID, ref.Name, s.observe(err))
	}
	return nil
}

// gone is the error of an operation on what is not there.
func gone(i provider.Instance) error {
	return provider.Errorf(provider.Conflict, "virtual machine %s is gone", i.ID)
}

// run says whether KubeVirt is to run a virtual machine. One of an original may say so by another field, which cannot be beside it.
func (e errand) run(ctx context.Context, i provider.Instance, strategy kubevirt.VirtualMachineRunStrategy) error {
	return e.change(ctx, i, map[string]any{"spec": map[string]any{"running": nil, "runStrategy": strategy}})
}

func (e errand) change(ctx context.Context, i provider.Instance, merge map[string]any) error {
	_, err := virtualMachines.Patch(ctx, e.c, e.c.Namespace, i.ID, merge)
	if kubeapi.IsGone(err) {
		return gone(i)
	}
	return err
}

// reboot ends the instance, which KubeVirt makes anew. A request is written down first, with the instance that it ends: who asks again
// for the same ends that one, if it is still there, and no other.
func (e errand) reboot(ctx context.Context, i provider.Instance, request string) error {
	v, err := virtualMachines.Get(ctx, e.c, e.c.Namespace, i.ID)
	if err != nil {
		return err
	}
	if v == nil || v.DeletionTimestamp != nil {
		return gone(i)
	}
	running, err := instances.Get(ctx, e.c, e.c.Namespace, i.ID)
	if err != nil {
		return err
	}
	ends := ""
	if running != nil {
		ends = string(running.UID)
	}
	before, of, _ := strings.Cut(v.Annotations[noteReboot], " ")
	if request != "" && before == request {
		if ends == "" || of != ends {
			return nil
		}
		return instances.Remove(ctx, e.c, e.c.Namespace, i.ID, running.UID)
	}
	merge := map[string]any{}
	if request != "" {
		merge["metadata"] = map[string]any{"annotations": map[string]any{noteReboot: request + " " + ends}}
	}
	if !wanted(v) {
		merge["spec"] = map[string]any{"running": nil, "runStrategy": kubevirt.RunStrategyAlways}
	}
	if len(merge) > 0 {
		if err := e.change(ctx, i, merge); err != nil {
			return err
		}
	}
	if running == nil {
		return nil
	}
	return instances.Remove(ctx, e.c, e.c.Namespace, i.ID, running.UID)
}
