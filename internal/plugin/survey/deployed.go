package survey

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/steer"
)

// Deployed has a stored deployment and the stored sets that it controls.
type Deployed struct {
	Object client.Object
	Sets   []client.Object
}

// Sets reads the sets of a deployment.
func Sets(ctx context.Context, c client.Reader, deployment client.Object) (Deployed, error) {
	d := Deployed{Object: deployment}
	api, _ := apis.KindOf(deployment)
	a, _ := apis.Of(api)
	for _, k := range a.Kinds {
		if k.Name != "MachineSet" {
			continue
		}
		list := k.List()
		if err := c.List(ctx, list, client.InNamespace(deployment.GetNamespace())); err != nil {
			return d, fmt.Errorf("read its machine sets: %w", err)
		}
		for _, s := range items(list) {
			if metav1.IsControlledBy(s, deployment) {
				d.Sets = append(d.Sets, s)
			}
		}
	}
	return d, nil
}

// Steered returns d for package steer, without facts about machines.
func (d Deployed) Steered(now time.Time) steer.Deployment {
	api, _ := apis.KindOf(d.Object)
	a, _ := apis.Of(api)
	out := steer.Deployment{Generation: d.Object.GetGeneration(), Observed: apis.Said(d.Object).Counts.Observed}
	out.Deployment, out.Sets, out.Policy = a.Deployments.Rollout(now, d.Object, d.Sets, func(client.Object) []client.Object { return nil }, dialect.NoNode)
	return out
}

// changeCause is the annotation in which users write the reason for a change. Controllers copy it from a deployment to
// its set.
const changeCause = "kubernetes.io/change-cause"

// CauseOf returns the change cause that a user wrote for the revision of a set, or "".
func (d Deployed) CauseOf(set string) string {
	for _, s := range d.Sets {
		if s.GetName() == set {
			return s.GetAnnotations()[changeCause]
		}
	}
	return ""
}

// With returns d with a JSON merge patch applied to the deployment in memory.
func (d Deployed) With(patch []byte) (Deployed, error) {
	after, err := Merged(d.Object, patch)
	return Deployed{Object: after, Sets: d.Sets}, err
}
