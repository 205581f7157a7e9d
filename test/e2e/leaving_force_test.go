package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// impatience is how a user forces a drain that has begun: with a label in one API, and with an annotation of Millwright in the
// other API, which has no such label.
var impatience = map[string]string{
	"openshift": `{"metadata":{"annotations":{"millwright.dev/drain-timeout":"1s"}}}`,
	"gardener":  `{"metadata":{"labels":{"force-deletion":"True"}}}`,
}

// The drain heeds a force request immediately, even while a budget blocks it. The budget is overruled and does not change.
func TestForceInMidDrain(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "force-" + d.name
		d.occupied(t, f, name)
		d.remove(t, f, name)
		d.says(t, f, name, "disruption budget default/"+name)
		unmoved(t, f, name)
		d.instance(t, f, name)
		merge(t, f, d.object("Machine", name), impatience[d.name])
		d.gone(t, f, name)
		pod := podNamed(name)
		err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		if client.IgnoreNotFound(err) != nil || err == nil && pod.DeletionTimestamp == nil {
			t.Errorf("the pod was not evicted: %v", err)
		}
		if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), budget(name)); err != nil {
			t.Error("the budget:", err)
		}
	})
}

// If a kubelet is killed while its node is drained, it no longer confirms the end of pods. After the node has become
// unreachable, pods get a second to end, and the drain does not wait for those that do not end. Budgets still apply.
func TestKubeletKilledInMidDrain(t *testing.T) {
	inBoth(t, func(t *testing.T, f *fleet.Fleet, d dialect) {
		name := "killed-" + d.name
		d.occupied(t, f, name)
		pod := podNamed(name)
		merge(t, f, pod, `{"metadata":{"finalizers":[%q]}}`, holdFinalizer)
		t.Cleanup(func() {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			if err := f.Client.Patch(context.Background(), podNamed(name), patch); err != nil {
				t.Error("let go of the pod:", err)
			}
		})
		d.remove(t, f, name)
		d.says(t, f, name, "disruption budget default/"+name)
		pids := kubelets(t, f, name)
		if len(pids) != 1 {
			t.Fatalf("processes %v stand for machine %s, want exactly one", pids, name)
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		unreachable(t, f, name)
		unmoved(t, f, name)
		if err := f.Client.Delete(t.Context(), budget(name)); err != nil {
			t.Fatal(err)
		}
		d.gone(t, f, name)

		if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			t.Fatal("the pod that was not evicted:", err)
		}
		if grace := pod.DeletionGracePeriodSeconds; pod.DeletionTimestamp == nil || grace == nil || *grace != 1 {
			t.Errorf("the pod has the deletionTimestamp %v, want one with a second of grace", pod.DeletionTimestamp)
		}
	})
}

// unreachable waits until the control plane has missed the node's heartbeats.
func unreachable(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	eventually(t, "node "+name+" unreachable", func(ctx context.Context) (string, error) {
		var n corev1.Node
		if err := f.Client.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				if c.Status == corev1.ConditionUnknown {
					return "", nil
				}
				return fmt.Sprintf("its Ready is %s", c.Status), nil
			}
		}
		return "it has no condition Ready", nil
	})
}
