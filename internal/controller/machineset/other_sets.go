package machineset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// otherSets are the sets besides the pass's own, and the deployment that they may have in common.
type otherSets[S client.Object] struct{ *scope[S] }

// elsewhere counts the disruptions of the sets that have the same owner.
func (o otherSets[S]) elsewhere(ctx context.Context, owner *metav1.OwnerReference) (sum replicas.Disruption, err error) {
	sets, err := o.listSets(ctx, o.set.Namespace)
	if err != nil {
		return sum, fmt.Errorf("list the other sets of %s: %w", owner.Name, err)
	}
	for _, s := range sets {
		ref := metav1.GetControllerOfNoCopy(s)
		if ref == nil || ref.UID != owner.UID || s.GetUID() == o.set.UID {
			continue
		}
		t, err := o.weigh(ctx, s)
		if err != nil {
			return sum, err
		}
		sum = sum.Add(t)
	}
	return sum, nil
}

// weigh counts the disruptions of another set. The number of machines under deletion does not depend on
// readiness, so it reads no nodes.
func (o otherSets[S]) weigh(ctx context.Context, s S) (replicas.Disruption, error) {
	machines, err := o.listCached(ctx, string(s.GetUID()))
	if err != nil {
		return replicas.Disruption{}, err
	}
	members := make([]replicas.Member, 0, len(machines))
	for _, m := range machines {
		members = append(members, o.lens.Member(s, m, func(string) *corev1.Node { return nil }))
	}
	v := o.lens.View(s)
	return replicas.DisruptionOf(o.now, v.Set, members, v.Policy), nil
}

// parent reads the deployment that controls the set; nil if no deployment does. An owner that does not exist,
// has another kind, or has only the same name is not the parent.
func (o otherSets[S]) parent(ctx context.Context, f dialect.Freezer[S]) (client.Object, error) {
	ref := metav1.GetControllerOfNoCopy(o.object)
	if ref == nil {
		return nil, nil
	}
	parent := f.Parent()
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.set.Namespace, Name: ref.Name}, parent)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the deployment of the set: %w", err)
	case parent.GetUID() != ref.UID:
		return nil, nil
	}
	return parent, nil
}
