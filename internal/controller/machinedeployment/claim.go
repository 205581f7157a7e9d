package machinedeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// claim returns the listed sets that are the deployment's, after the adoptions and releases. An error
// leaves their number uncertain.
func (r *observation[D, S]) claim(ctx context.Context, listed []S) ([]S, error) {
	var out, adopt, release []S
	for _, s := range listed {
		switch replicas.Claim(r.tie(s)) {
		case replicas.IsMember:
			out = append(out, s)
		case replicas.Adopt:
			adopt = append(adopt, s)
		case replicas.Release:
			release = append(release, s)
		case replicas.Ignore:
		}
	}
	adopted, err := r.adopt(ctx, adopt)
	return append(out, adopted...), errors.Join(err, r.release(ctx, release))
}

func (r *observation[D, S]) tie(s S) replicas.Tie {
	ref := metav1.GetControllerOfNoCopy(s)
	return replicas.Tie{
		Ours:            ref != nil && ref.UID == r.facts.UID,
		Free:            ref == nil && r.lens.Sets().Adopts(r.object, s),
		Matches:         r.selector.Matches(labels.Set(s.GetLabels())),
		MachineDeleting: s.GetDeletionTimestamp() != nil,
		SetDeleting:     r.facts.Deleting,
	}
}

// adopt makes sets the deployment's. Before that it asks the API server whether the deployment still
// exists: a cache may show a deployment that was deleted without its sets.
func (r *observation[D, S]) adopt(ctx context.Context, sets []S) (out []S, err error) {
	if len(sets) == 0 {
		return nil, nil
	}
	if stands, err := r.stands(ctx); err != nil {
		return nil, fmt.Errorf("before adopting: %w", err)
	} else if !stands {
		return nil, apierrors.NewConflict(r.resource(), r.facts.Name, errors.New("the deployment has gone meanwhile"))
	}
	ref := *metav1.NewControllerRef(r.object, r.lens.Traits().Kind)
	for _, s := range sets {
		after, err := r.patchSet(ctx, "adopt", s, func(s S) {
			s.SetOwnerReferences(slices.Insert(r.without(s.GetOwnerReferences()), 0, ref))
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return out, err
		}
		r.Recorder.Eventf(r.object, after, corev1.EventTypeNormal, "Adopted", "Adopt", "Adopted machine set %s, which the selector matches", after.GetName())
		out = append(out, after)
	}
	return out, nil
}

// release removes the deployment's reference from sets that its selector no longer matches.
func (r *observation[D, S]) release(ctx context.Context, sets []S) error {
	for _, s := range sets {
		after, err := r.patchSet(ctx, "release", s, func(s S) { s.SetOwnerReferences(r.without(s.GetOwnerReferences())) })
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		r.Recorder.Eventf(r.object, after, corev1.EventTypeNormal, "Released", "Release", "Released machine set %s, which the selector does not match any more", after.GetName())
	}
	return nil
}
