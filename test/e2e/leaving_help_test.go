package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// holdFinalizer keeps a pod under deletion from being removed, whatever its kubelet reports.
const holdFinalizer = "example.com/hold"

// versions are the versions of the APIs.
var versions = map[string]string{provider.OpenShift: "v1beta1", provider.Gardener: "v1alpha1"}

// object returns an object of the API, for reading or writing.
func (d dialect) object(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: d.group, Version: versions[d.group], Kind: kind})
	u.SetNamespace(d.namespace)
	u.SetName(name)
	return u
}

// merge patches an object.
func merge(t *testing.T, f *fleet.Fleet, o client.Object, patch string, args ...any) {
	t.Helper()
	if len(args) > 0 {
		patch = fmt.Sprintf(patch, args...)
	}
	if err := f.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatalf("patch %T %s: %v", o, o.GetName(), err)
	}
}

// remove deletes a machine, and does not wait.
func (d dialect) remove(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	if err := f.Client.Delete(t.Context(), d.object("Machine", name)); err != nil {
		t.Fatal(err)
	}
}

func podNamed(name string) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = "default", name
	return p
}

// occupied creates a machine and on its node a running pod, both with the name, and a budget that allows no eviction of the
// pod.
func (d dialect) occupied(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	d.machine(t, f, name)
	kubectl(t, f, manifest(t, "pod.yaml", name), "apply", "-f", "-")
	ready(t, f, name)
}

// ready waits until the pod runs and is ready.
func ready(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	eventually(t, "pod "+name+" ready", func(ctx context.Context) (string, error) {
		p := podNamed(name)
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return "", err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return "", nil
			}
		}
		return "it is " + string(p.Status.Phase), nil
	})
}

// unmoved fails unless the pod exists and is not under deletion.
func unmoved(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	p := podNamed(name)
	if err := f.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		t.Fatalf("pod %s, which must not be evicted: %v", name, err)
	}
	if p.DeletionTimestamp != nil {
		t.Fatalf("pod %s is under deletion", name)
	}
}

// podGone waits until the API server no longer has the pod.
func podGone(t *testing.T, f *fleet.Fleet, name string) {
	t.Helper()
	eventually(t, "pod "+name+" gone", func(ctx context.Context) (string, error) {
		p := podNamed(name)
		err := f.Client.Get(ctx, client.ObjectKeyFromObject(p), p)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return fmt.Sprintf("it is %s, to end at %v", p.Status.Phase, p.DeletionTimestamp), err
	})
}

// cordoned reports whether the node takes no new pods.
func cordoned(t *testing.T, f *fleet.Fleet, name string) bool {
	t.Helper()
	var n corev1.Node
	if err := f.Client.Get(t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		t.Fatal(err)
	}
	return n.Spec.Unschedulable
}

// instance fails unless exactly one instance of the machine exists and runs.
func (d dialect) instance(t *testing.T, f *fleet.Fleet, name string) provider.Instance {
	t.Helper()
	w, err := truthOf(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.console.Instances(t.Context(), d.cluster)
	if err != nil {
		t.Fatal(err)
	}
	var own []provider.Instance
	for _, i := range all {
		if i.Name == name {
			own = append(own, i)
		}
	}
	if len(own) != 1 || own[0].State != provider.Running {
		t.Fatalf("instances of machine %s: %+v, want one that runs", name, own)
	}
	return own[0]
}

// told waits until one or several events with the reason about the object together contain all the words.
func told(t *testing.T, f *fleet.Fleet, about client.Object, reason string, words ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("an event about %s with reason %s contains %q", about.GetName(), reason, words), func(ctx context.Context) (string, error) {
		var list eventsv1.EventList
		if err := f.Client.List(ctx, &list, client.InNamespace(about.GetNamespace())); err != nil {
			return "", err
		}
		var notes []string
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Name == about.GetName() {
				notes = append(notes, e.Note)
			}
		}
		text := strings.Join(notes, "\n")
		for _, w := range words {
			if !strings.Contains(text, w) {
				return fmt.Sprintf("there are %q", notes), nil
			}
		}
		if len(notes) == 0 {
			return "there is no such event", nil
		}
		return "", nil
	})
}
