package cloud

import (
	"context"
	"fmt"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Powerer = &session{}

// Power implements [provider.Powerer]. The request of a reboot stands beside the annotation by which the host is rebooted, so that both
// are written or none.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	switch op {
	case provider.PowerOn:
		return s.operate(ctx, ref, i, func(*host) (notes, to map[string]any, err error) {
			return map[string]any{originalPowerOff: nil}, map[string]any{"online": true}, nil
		})
	case provider.PowerOff:
		return s.operate(ctx, ref, i, func(h *host) (notes, to map[string]any, err error) {
			if h.Spec.DisablePowerOff {
				return nil, nil, provider.Errorf(provider.Invalid, "disablePowerOff of the host forbids it")
			}
			return nil, map[string]any{"online": false}, nil
		})
	case provider.Reboot:
		return s.operate(ctx, ref, i, func(h *host) (notes, to map[string]any, err error) {
			if request != "" && h.Annotations[noteReboot] == request {
				return nil, nil, nil
			}
			notes = map[string]any{metal3.RebootAnnotationPrefix: `{"mode":"hard"}`, originalPowerOff: nil}
			if request != "" {
				notes[noteReboot] = request
			}
			return notes, map[string]any{"online": true}, nil
		})
	}
	return provider.Errorf(provider.Invalid, "Metal3 has no power operation %q", op)
}

// operate changes the host of an instance by what is said of it as it is.
func (s *session) operate(ctx context.Context, ref provider.Ref, i provider.Instance, what func(*host) (notes, to map[string]any, err error)) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	e := errand{s, c}
	h, err := e.still(ctx, i)
	if err != nil {
		return fmt.Errorf("look at host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	notes, to, err := what(h)
	if err != nil || notes == nil && to == nil {
		return err
	}
	if err := e.write(ctx, h, map[string]any{"annotations": notes}, to); err != nil {
		return fmt.Errorf("switch host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}

// still is the host of an instance, if it is still that.
func (e errand) still(ctx context.Context, i provider.Instance) (*host, error) {
	p, ok := identified(i.ProviderID)
	if !ok {
		return nil, provider.Errorf(provider.Conflict, "provider ID %q names no host", i.ProviderID)
	}
	h, err := hosts.Get(ctx, e.c, p.namespace, p.name)
	if err != nil {
		return nil, err
	}
	if h == nil || h.DeletionTimestamp != nil || !p.is(h) || !e.owns(h) {
		return nil, provider.Errorf(provider.Conflict, "it is gone, or somebody else has it")
	}
	return h, nil
}
