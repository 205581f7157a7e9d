package machineset_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/box/boxtest"
	"github.com/millwright-dev/millwright/internal/run"
)

// The schema of machine.sapcloud.io has no default for replicas, and zero is
// absent on the wire. Then the server cannot show a scale, while setting one
// works: that is what kubectl scale does.
func TestScaleOfASetWithoutReplicas(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	s := c.declare(t, 0)
	scaler, err := client.New(boxtest.Start(t).Config, client.Options{Scheme: run.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	err = scaler.SubResource("scale").Get(t.Context(), s, &autoscalingv1.Scale{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("reading the scale of a set without replicas: %v", err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	body := &client.SubResourcePatchOptions{SubResourceBody: &autoscalingv1.Scale{}}
	if err := scaler.SubResource("scale").Patch(t.Context(), s.DeepCopy(), patch, body); err != nil {
		t.Fatalf("kubectl scale: %v", err)
	}
	c.awaitStatus(t, s, 2)
	scale := &autoscalingv1.Scale{}
	if err := scaler.SubResource("scale").Get(t.Context(), s, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 2 || scale.Status.Selector != "pool=a" {
		t.Errorf("scale %+v %+v", scale.Spec, scale.Status)
	}
}
