package machineset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change is an update of machines.
type change struct {
	// doing names it in errors.
	doing string
	// apply makes the change, on a copy.
	apply func(m client.Object)
	// reason, action and note, which names the machine, form the event; without a reason there is no event.
	reason, action, note string
}

// patchEach changes each of the machines and returns those that succeeded. Every patch requires the version
// that it was computed from. Machines that were deleted meanwhile are left out without an error.
func (s *scope[S]) patchEach(ctx context.Context, machines []client.Object, c change) ([]client.Object, error) {
	done, errs := make([]client.Object, len(machines)), make([]error, len(machines))
	s.Creates(len(machines), func(i int) {
		before := machines[i]
		after := before.DeepCopyObject().(client.Object)
		c.apply(after)
		err := s.Client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			done[i] = after
		} else if client.IgnoreNotFound(err) != nil {
			errs[i] = fmt.Errorf("%s %s: %w", c.doing, before.GetName(), err)
		}
	})
	var out []client.Object
	for _, m := range done {
		if m == nil {
			continue
		}
		out = append(out, m)
		if c.reason != "" {
			s.Recorder.Eventf(s.object, m, corev1.EventTypeNormal, c.reason, c.action, c.note, m.GetName())
		}
	}
	return out, errors.Join(errs...)
}
