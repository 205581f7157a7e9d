package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestClusterAutoscalerWhileOneLeaves: for most of the time of a rollout, an old machine is under deletion and counts until its
// drain is done. In this state, too, the named machine is deleted and no other (cluster-autoscaler#8494).
func TestClusterAutoscalerWhileOneLeaves(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	seats(t, 3)
	r := newClusterAutoscaler(t, f)
	d.discard(t, f, "ca-drain")
	o := d.variant(t, "ca-drain", `{"replicas":2}`)
	annotate(o, minSizeKey, "1")
	annotate(o, maxSizeKey, "3")
	apply(t, f, o)
	c := d.follow(t, f, "pool=ca-drain")
	running(t, f, d.group, "ca-drain-", 2)
	first := c.present()
	hooks := func(value string) {
		for _, m := range first {
			patch := []byte(`{"spec":{"lifecycleHooks":` + value + `}}`)
			_, err := r.in("machines").Patch(context.WithoutCancel(t.Context()), m, types.MergePatchType, patch, metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	}
	hooks(`{"preDrain":[{"name":"slow","owner":"test"}]}`)
	t.Cleanup(func() { hooks("null") })
	kubectl(t, f, "", "-n", d.namespace, "patch", d.deployments(), "ca-drain", "--type=merge",
		"-p", `{"spec":{"template":{"spec":{"providerSpec":{"value":{"numCores":2}}}}}}`)
	eventually(t, "an old machine on its way out", func(context.Context) (string, error) {
		if len(c.left()) != 1 || len(c.present()) != 3 {
			return fmt.Sprintf("%v left of %v", c.left(), c.present()), nil
		}
		return "", nil
	})
	held, fresh := c.left()[0], others(c.present(), first)[0]

	r.remove(r.group("MachineDeployment/"+d.namespace+"/ca-drain"), fresh)
	c.went(t, fresh)
	if left := c.left(); !slices.Equal(left, []string{held, fresh}) {
		t.Errorf("%v left, want %s and then %s, which was named", left, held, fresh)
	}
	hooks("null")
	c.replaced(t, append(first, fresh), 1)
}
