package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// Section 2.10 of the Gardener notes: a preserved machine is not deleted when its set scales down, even if it would be the
// first, and is not replaced when it fails. Both end when the request for preservation is removed, or when its time is over.
func TestPreservedMachine(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[1]
	const name = "keep"
	userData(t, f, d, name)
	kubectl(t, f, manifest(t, "leaving-keep.yaml", name), "apply", "-f", "-")
	two := running(t, f, d.group, name, 2)
	kept, other := two[0].Name, two[1].Name
	merge(t, f, d.object("Machine", kept), `{"metadata":{"annotations":{%q:"now",%q:"1"}}}`,
		v1alpha1.AnnotationKeyPreserve, v1alpha1.AnnotationKeyMachinePriority)
	preserved(t, f, kept)
	kubectl(t, f, "", "-n", d.namespace, "scale", d.sets(), name, "--replicas=1")
	d.gone(t, f, other)

	fail(t, f, kept)
	keeps(t, f, kept)
	fenced(t, f, kept)
	keeps(t, f, kept)
	if all, err := machines(t.Context(), f, d.group, name); err != nil || len(all) != 1 {
		t.Fatalf("machines %+v, %v, want the preserved one alone", all, err)
	}
	merge(t, f, d.object("Machine", kept), `{"metadata":{"annotations":{%q:"false"}}}`, v1alpha1.AnnotationKeyPreserve)
	d.gone(t, f, kept)

	next := running(t, f, d.group, name, 1)[0].Name
	merge(t, f, d.object("MachineSet", name), `{"spec":{"template":{"spec":{"machinePreserveTimeout":"5s"}}}}`)
	merge(t, f, d.object("Machine", next), `{"metadata":{"annotations":{%q:"when-failed"}}}`, v1alpha1.AnnotationKeyPreserve)
	fail(t, f, next)
	until := preserved(t, f, next)
	goesAfter(t, f, next, until)
	d.gone(t, f, next)
	running(t, f, d.group, name, 1)
}

func gardenerMachine(ctx context.Context, f *fleet.Fleet, name string) (*v1alpha1.Machine, error) {
	m := &v1alpha1.Machine{}
	return m, f.Client.Get(ctx, client.ObjectKey{Namespace: fleet.GardenerNamespace, Name: name}, m)
}

// preserved waits until the machine is preserved, and returns the end of the preservation.
func preserved(t *testing.T, f *fleet.Fleet, name string) (until time.Time) {
	t.Helper()
	eventually(t, name+" preserved", func(ctx context.Context) (string, error) {
		m, err := gardenerMachine(ctx, f, name)
		if err != nil {
			return "", err
		}
		if m.Status.CurrentStatus.PreserveExpiryTime == nil {
			return fmt.Sprintf("it is not; it is %s", m.Status.CurrentStatus.Phase), nil
		}
		until = m.Status.CurrentStatus.PreserveExpiryTime.Time
		return "", nil
	})
	return until
}

// fail makes the machine Failed: its node reports a kernel deadlock for longer than the healthTimeout of the machine, which is
// a second.
func fail(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	deadlocked(t, f, name, corev1.ConditionTrue)
	eventually(t, name+" Failed", func(ctx context.Context) (string, error) {
		m, err := gardenerMachine(ctx, f, name)
		if err != nil || m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed {
			return "", err
		}
		return "it is " + string(m.Status.CurrentStatus.Phase), nil
	})
}

// fenced waits until the node of a preserved machine that failed takes no new pods, and reports that it was drained.
func fenced(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	eventually(t, "node "+name+" fenced and drained", func(ctx context.Context) (string, error) {
		var n corev1.Node
		if err := f.Client.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == v1alpha1.NodePreserved && c.Status == corev1.ConditionTrue {
				for _, taint := range n.Spec.Taints {
					if taint.Key == v1alpha1.TaintKeyPreserved {
						return "", nil
					}
				}
			}
		}
		return fmt.Sprintf("its taints are %v, its conditions %v", n.Spec.Taints, n.Status.Conditions), nil
	})
}

// keeps fails unless the machine exists and is not under deletion.
func keeps(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	if m, err := gardenerMachine(t.Context(), f, name); err != nil || m.DeletionTimestamp != nil {
		t.Fatalf("preserved machine %s: deleted at %v, %v", name, m.DeletionTimestamp, err)
	}
}

// goesAfter waits until the machine is under deletion or deleted, and fails if this happens before the time.
func goesAfter(t *testing.T, f *fleet.Fleet, name string, until time.Time) {
	t.Helper()
	eventually(t, name+" is deleted", func(ctx context.Context) (string, error) {
		m, err := gardenerMachine(ctx, f, name)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if err == nil && m.DeletionTimestamp == nil {
			return fmt.Sprintf("it is preserved until %s", until), nil
		}
		if now := time.Now(); now.Before(until) {
			t.Fatalf("deleted at %s, although it is preserved until %s", now, until)
		}
		return "", nil
	})
}
