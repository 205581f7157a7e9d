package cloud

import (
	"context"
	"fmt"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Powerer = &session{}

// Power implements [provider.Powerer]. One patch writes the request and the annotation that reboots the host,
// so that either both are stored or neither.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	switch op {
	case provider.PowerOn:
		return s.operate(ctx, ref, i, func(*host) (notes, to map[string]any, err error) {
			return map[string]any{originalPowerOff: nil}, map[string]any{"online": true}, nil
		})
	case provider.PowerOff:
		return s.operate(ctx, ref, i, func(h *host) (notes, to map[string]any, err error) {
			if h.Spec.DisablePowerOff {
				return nil, nil, provider.Errorf(provider.Invalid, "the host's spec.disablePowerOff forbids it")
			}
			return nil, map[string]any{"online": false}, nil
		})
	case provider.Reboot:
		return s.operate(ctx, ref, i, func(h *host) (notes, to map[string]any, err error) {
			if request != "" && h.Annotations[annotationReboot] == request {
				return nil, nil, nil
			}
			notes = map[string]any{metal3.RebootAnnotationPrefix: `{"mode":"hard"}`, originalPowerOff: nil}
			if request != "" {
				notes[annotationReboot] = request
			}
			return notes, map[string]any{"online": true}, nil
		})
	}
	return provider.Errorf(provider.Invalid, "Metal3 has no power operation %q", op)
}

// operate patches the host of an instance; patch returns the changes for the host's current state.
func (s *session) operate(ctx context.Context, ref provider.Ref, i provider.Instance, patch func(*host) (notes, to map[string]any, err error)) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	c := call{s, client}
	h, err := c.hostOf(ctx, i)
	if err != nil {
		return fmt.Errorf("read host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	notes, to, err := patch(h)
	if err != nil || notes == nil && to == nil {
		return err
	}
	if err := c.patch(ctx, h, map[string]any{"annotations": notes}, to); err != nil {
		return fmt.Errorf("switch host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}

// hostOf returns the host of an instance, if it still belongs to the instance.
func (c call) hostOf(ctx context.Context, i provider.Instance) (*host, error) {
	p, ok := identified(i.ProviderID)
	if !ok {
		return nil, provider.Errorf(provider.Conflict, "provider ID %q names no host", i.ProviderID)
	}
	h, err := hosts.Get(ctx, c.client, p.namespace, p.name)
	if err != nil {
		return nil, err
	}
	if h == nil || h.DeletionTimestamp != nil || !p.is(h) || !c.owns(h) {
		return nil, provider.Errorf(provider.Conflict, "the host does not exist, or belongs to another machine")
	}
	return h, nil
}
