package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// The two APIs.
var (
	openshift = schema.GroupVersion{Group: "machine.openshift.io", Version: "v1beta1"}
	gardener  = schema.GroupVersion{Group: "machine.sapcloud.io", Version: "v1alpha1"}
	apis      = []schema.GroupVersion{openshift, gardener}
)

// ref identifies an object.
type ref struct {
	schema.GroupVersionKind
	types.NamespacedName
}

func refTo(gv schema.GroupVersion, kind, namespace, name string) ref {
	return ref{gv.WithKind(kind), types.NamespacedName{Namespace: namespace, Name: name}}
}

func (r ref) String() string { return r.Kind + " " + r.NamespacedName.String() + " of " + r.Group }

func (r ref) object() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(r.GroupVersionKind)
	o.SetNamespace(r.Namespace)
	o.SetName(r.Name)
	return o
}

// The objects of fleet.yaml.
var (
	sets = []ref{
		refTo(openshift, "MachineSet", fleet.OpenShiftNamespace, "os-set"),
		refTo(gardener, "MachineSet", fleet.GardenerNamespace, "ga-set"),
	}
	deployments = []ref{
		refTo(openshift, "MachineDeployment", fleet.OpenShiftNamespace, "os-dep"),
		refTo(gardener, "MachineDeployment", fleet.GardenerNamespace, "ga-dep"),
	}
	budget = ref{schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, types.NamespacedName{Namespace: "work", Name: "work"}}
)

// patience limits how long a user repeats a request that the API server does not execute.
const patience = time.Minute

// insist repeats a request until the API server has executed it. An object that no longer exists is no error.
func (w *world) insist(ctx context.Context, what string, do func(context.Context) error) error {
	deadline := time.Now().Add(patience)
	for {
		err := do(ctx)
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func (w *world) patch(ctx context.Context, r ref, format string, args ...any) error {
	body := fmt.Appendf(nil, format, args...)
	return w.insist(ctx, fmt.Sprintf("patch %s with %s", r, body), func(ctx context.Context) error {
		return w.client.Patch(ctx, r.object(), client.RawPatch(types.MergePatchType, body))
	})
}

func (w *world) remove(ctx context.Context, r ref) error {
	return w.insist(ctx, "delete "+r.String(), func(ctx context.Context) error {
		return w.client.Delete(ctx, r.object(), client.PropagationPolicy("Background"))
	})
}

// list lists a kind in both APIs, sorted by name.
func (w *world) list(ctx context.Context, kind string, of ...schema.GroupVersion) (out []*unstructured.Unstructured, err error) {
	for _, gv := range of {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gv.WithKind(kind + "List"))
		if err := w.client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// pick chooses a machine that belongs to a set and is not under deletion.
func (w *world) pick(ctx context.Context, n int, of ...schema.GroupVersion) (found ref, ok bool, err error) {
	err = w.insist(ctx, "choose a machine", func(ctx context.Context) error {
		machines, err := w.list(ctx, "Machine", of...)
		machines = slices.DeleteFunc(machines, func(m *unstructured.Unstructured) bool {
			return m.GetDeletionTimestamp() != nil || len(m.GetOwnerReferences()) == 0
		})
		if ok = err == nil && len(machines) > 0; ok {
			m := machines[n%len(machines)]
			found = ref{m.GroupVersionKind(), client.ObjectKeyFromObject(m)}
		}
		return err
	})
	return found, ok, err
}

// act performs a step of the plan.
func (w *world) act(ctx context.Context, s step) error {
	w.count("step " + s.What)
	switch s.What {
	case doScale:
		targets := slices.Concat(sets, deployments)
		return w.patch(ctx, targets[s.Target%len(targets)], `{"spec":{"replicas":%d}}`, 2+s.N%4)
	case doRoll:
		return w.roll(ctx, deployments[s.Target%2], s.N)
	case doBudget:
		if err := w.patch(ctx, budget, `{"spec":{"maxUnavailable":0}}`); err != nil {
			return err
		}
		time.Sleep(time.Duration(3+s.N%20) * time.Second)
		return w.patch(ctx, budget, `{"spec":{"maxUnavailable":6}}`)
	case doCluster:
		return w.patch(ctx, deployments[0], `{"spec":{"template":{"metadata":{"labels":{"machine.openshift.io/cluster-api-cluster":"mill-%d"}}}}}`, s.N%3)
	}
	of := []schema.GroupVersion{apis[s.N%2]}
	if s.What == doHook {
		of = apis[:1]
	}
	m, ok, err := w.pick(ctx, s.Target, of...)
	if err != nil || !ok {
		return err
	}
	return w.actOn(ctx, m, s)
}

// actOn performs a step on a machine.
func (w *world) actOn(ctx context.Context, m ref, s step) error {
	switch s.What {
	case doHook:
		return w.hook(ctx, m, s)
	case doStray:
		label := map[schema.GroupVersion]string{openshift: "pool", gardener: "name"}[m.GroupVersion()]
		w.mu.Lock()
		w.strays = append(w.strays, m)
		w.mu.Unlock()
		return w.patch(ctx, m, `{"metadata":{"labels":{%q:"stray"}}}`, label)
	case doExclude:
		mark := `{"metadata":{"annotations":{"machine.openshift.io/exclude-node-draining":""}}}`
		if m.GroupVersion() == gardener {
			mark = `{"metadata":{"labels":{"force-deletion":"True"}}}`
		}
		if err := w.patch(ctx, m, "%s", mark); err != nil {
			return err
		}
	}
	return w.remove(ctx, m)
}

// roll changes the template, so that all machines are replaced.
func (w *world) roll(ctx context.Context, d ref, n int) error {
	if d.GroupVersion() == gardener {
		class := "v1"
		err := w.insist(ctx, "read "+d.String(), func(ctx context.Context) error {
			o := d.object()
			if err := w.client.Get(ctx, d.NamespacedName, o); err != nil {
				return err
			}
			if is, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "class", "name"); is == class {
				class = "v2"
			}
			return nil
		})
		if err != nil {
			return err
		}
		return w.patch(ctx, d, `{"spec":{"template":{"spec":{"class":{"name":%q}}}}}`, class)
	}
	return w.patch(ctx, d, `{"spec":{"template":{"spec":{"providerSpec":{"value":{"instanceType":"v%d"}}}}}}`, n%5)
}

// hook deletes a machine with hooks, and removes the hooks one after the other.
func (w *world) hook(ctx context.Context, m ref, s step) error {
	const on = `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"backup","owner":"history"}],"preTerminate":[{"name":"audit","owner":"history"}]}}}`
	if err := w.patch(ctx, m, on); err != nil {
		return err
	}
	if err := w.remove(ctx, m); err != nil {
		return err
	}
	time.Sleep(time.Duration(2+s.N%4) * time.Second)
	if err := w.patch(ctx, m, `{"spec":{"lifecycleHooks":{"preDrain":null}}}`); err != nil {
		return err
	}
	time.Sleep(time.Duration(2+s.N%3) * time.Second)
	return w.patch(ctx, m, `{"spec":{"lifecycleHooks":null}}`)
}

// tidy deletes the machines whose labels no longer match their sets.
func (w *world) tidy(ctx context.Context) error {
	w.mu.Lock()
	strays := w.strays
	w.strays = nil
	w.mu.Unlock()
	for _, m := range strays {
		if err := w.remove(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
