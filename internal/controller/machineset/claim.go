package machineset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// claim returns the listed machines that are the set's, after the adoptions and releases. An error leaves
// their number uncertain.
func (r *observation[S]) claim(ctx context.Context, listed []client.Object) ([]client.Object, error) {
	var members, adopt, release []client.Object
	for _, m := range listed {
		switch replicas.Claim(r.tie(m)) {
		case replicas.IsMember:
			members = append(members, m)
		case replicas.Adopt:
			adopt = append(adopt, m)
		case replicas.Release:
			release = append(release, m)
		case replicas.Ignore:
		}
	}
	adopted, err := r.adopt(ctx, adopt)
	return append(members, adopted...), errors.Join(err, r.release(ctx, release))
}

func (r *observation[S]) tie(m client.Object) replicas.Tie {
	t := replicas.Tie{
		Matches:         r.selector.Matches(labels.Set(m.GetLabels())),
		MachineDeleting: m.GetDeletionTimestamp() != nil,
		SetDeleting:     r.set.Deleting,
	}
	t.Ours, t.Free = r.ours(m)
	return t
}

// adopt makes machines the set's. Before that it asks the API server whether the set still exists: a cache
// may show a set that was deleted without its machines.
func (r *observation[S]) adopt(ctx context.Context, machines []client.Object) ([]client.Object, error) {
	if len(machines) == 0 {
		return nil, nil
	}
	if stands, err := r.stands(ctx); err != nil {
		return nil, fmt.Errorf("before adopting: %w", err)
	} else if !stands {
		return nil, apierrors.NewConflict(r.resource(), r.set.Name, errors.New("the set has gone meanwhile"))
	}
	ref := *metav1.NewControllerRef(r.object, r.lens.Traits().Kind)
	return r.patchEach(ctx, machines, change{
		doing: "adopt machine", reason: "Adopted", action: "Adopt", note: "Adopted machine %s, which the selector matches",
		apply: func(m client.Object) {
			m.SetOwnerReferences(slices.Insert(r.without(m.GetOwnerReferences()), 0, ref))
		},
	})
}

// release removes the set's reference from machines that its selector no longer matches.
func (r *observation[S]) release(ctx context.Context, machines []client.Object) error {
	_, err := r.patchEach(ctx, machines, change{
		doing: "release machine", reason: "Released", action: "Release", note: "Released machine %s, which the selector does not match any more",
		apply: func(m client.Object) { m.SetOwnerReferences(r.without(m.GetOwnerReferences())) },
	})
	return err
}
