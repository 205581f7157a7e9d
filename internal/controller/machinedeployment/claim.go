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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// claim returns those of listed that are the deployment's, after adopting and
// releasing what has to be. An error leaves their number uncertain.
func (p *pass[D, S]) claim(ctx context.Context, listed []S) ([]S, error) {
	var out, adopt, release []S
	for _, s := range listed {
		switch replicas.Claim(p.tie(s)) {
		case replicas.IsMember:
			out = append(out, s)
		case replicas.Adopt:
			adopt = append(adopt, s)
		case replicas.Release:
			release = append(release, s)
		case replicas.Ignore:
		}
	}
	adopted, err := p.adopt(ctx, adopt)
	return append(out, adopted...), errors.Join(err, p.release(ctx, release))
}

func (p *pass[D, S]) tie(s S) replicas.Tie {
	ref := metav1.GetControllerOfNoCopy(s)
	return replicas.Tie{
		Ours:            ref != nil && ref.UID == p.facts.UID,
		Free:            ref == nil && p.lens.Sets().Adopts(p.object, s),
		Matches:         p.selector.Matches(labels.Set(s.GetLabels())),
		MachineDeleting: s.GetDeletionTimestamp() != nil,
		SetDeleting:     p.facts.Deleting,
	}
}

// adopt makes sets the deployment's. That the deployment itself still lives is
// read live first: a cache may show one that was deleted so that its sets
// survive.
func (p *pass[D, S]) adopt(ctx context.Context, sets []S) (out []S, err error) {
	if len(sets) == 0 {
		return nil, nil
	}
	now := p.lens.New()
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.object), now); err != nil {
		return nil, fmt.Errorf("read deployment before adopting: %w", err)
	}
	if now.GetUID() != p.facts.UID || now.GetDeletionTimestamp() != nil {
		return nil, apierrors.NewConflict(p.resource(), p.facts.Name, errors.New("the deployment has gone meanwhile"))
	}
	ref := *metav1.NewControllerRef(p.object, p.lens.Traits().Kind)
	for _, s := range sets {
		after, err := p.patchSet(ctx, "adopt", s, func(s S) {
			s.SetOwnerReferences(slices.Insert(p.without(s.GetOwnerReferences()), 0, ref))
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return out, err
		}
		p.Recorder.Eventf(p.object, after, corev1.EventTypeNormal, "Adopted", "Adopt", "Adopted machine set %s, which the selector matches", after.GetName())
		out = append(out, after)
	}
	return out, nil
}

// release takes the deployment's reference off sets that its selector no
// longer matches.
func (p *pass[D, S]) release(ctx context.Context, sets []S) error {
	for _, s := range sets {
		after, err := p.patchSet(ctx, "release", s, func(s S) { s.SetOwnerReferences(p.without(s.GetOwnerReferences())) })
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.Recorder.Eventf(p.object, after, corev1.EventTypeNormal, "Released", "Release", "Released machine set %s, which the selector does not match any more", after.GetName())
	}
	return nil
}

// without returns refs but for those to the deployment.
func (p *pass[D, S]) without(refs []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r metav1.OwnerReference) bool { return r.UID == p.facts.UID })
}
