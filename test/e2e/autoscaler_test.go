package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// robot acts as an autoscaler: through its own client, which uses discovery and knows only the fields of the API and not its
// types.
type robot struct {
	t         *testing.T
	objects   dynamic.Interface
	scales    scale.ScalesGetter
	version   schema.GroupVersion
	namespace string
}

// newRobot discovers the group. The autoscalers need machines, sets and deployments in its preferred version.
func newRobot(t *testing.T, f *fleet.Fleet, d dialect) *robot {
	t.Helper()
	config, err := f.Plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &robot{t: t, objects: dynamicClient(t, f), namespace: d.namespace}
	groups, err := found.ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		if g.Name == d.group {
			r.version = schema.GroupVersion{Group: g.Name, Version: g.PreferredVersion.Version}
		}
	}
	served, err := found.ServerResourcesForGroupVersion(r.version.String())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, s := range served.APIResources {
		names[s.Name] = s.Kind
	}
	for name, kind := range map[string]string{
		"machines": "Machine", "machinesets": "MachineSet", "machinesets/scale": "Scale", "machinedeployments": "MachineDeployment", "machinedeployments/scale": "Scale",
	} {
		if names[name] != kind {
			t.Fatalf("%s serves %s as %q, want %s", r.version, name, names[name], kind)
		}
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	if r.scales, err = scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(found)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *robot) in(resource string) dynamic.ResourceInterface {
	return r.objects.Resource(r.version.WithResource(resource)).Namespace(r.namespace)
}

func (r *robot) get(resource, name string) *unstructured.Unstructured {
	r.t.Helper()
	o, err := r.in(resource).Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *robot) list(resource, selector string) []unstructured.Unstructured {
	r.t.Helper()
	all, err := r.in(resource).List(r.t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		r.t.Fatal(err)
	}
	return all.Items
}

// nodes returns all nodes of the cluster, by their provider IDs.
func (r *robot) nodes() map[string]*unstructured.Unstructured {
	r.t.Helper()
	all, err := r.objects.Resource(nodeKind).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for i := range all.Items {
		out[text(&all.Items[i], "spec", "providerID")] = &all.Items[i]
	}
	return out
}

// change reads an object, edits it and writes all of it. It repeats this after each conflict with another client.
func (r *robot) change(resource, name string, edit func(*unstructured.Unstructured)) {
	r.t.Helper()
	eventually(r.t, "write "+resource+" "+name, func(ctx context.Context) (string, error) {
		o, err := r.in(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		edit(o)
		_, err = r.in(resource).Update(ctx, o, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return "another client wrote it", nil
		}
		return "", err
	})
}

// text returns a field, or an empty string.
func text(o *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, fields...)
	return s
}

func number(o *unstructured.Unstructured, fields ...string) int {
	n, _, _ := unstructured.NestedInt64(o.Object, fields...)
	return int(n)
}

// tail returns the part after the last slash. Both autoscalers compare provider IDs only by this part.
func tail(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// annotate changes one annotation; empty removes it.
func annotate(o *unstructured.Unstructured, key, value string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	if value == "" {
		delete(all, key)
	}
	o.SetAnnotations(all)
}

// offers waits until the node has the predicted capacity, labels and taints.
func (r *robot) offers(node string, want nodeTemplate) {
	r.t.Helper()
	eventually(r.t, "node "+node+" is as its template predicts", func(ctx context.Context) (string, error) {
		n, err := r.objects.Resource(nodeKind).Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return want.missing(n), nil
	})
}

// nodeTemplate is the node that an autoscaler expects.
type nodeTemplate struct {
	// capacity are quantities by resource.
	capacity, labels map[string]string
	// taints are key=value:effect.
	taints []string
}

// missing returns what a node lacks of the template.
func (w nodeTemplate) missing(n *unstructured.Unstructured) string {
	for resource, want := range w.capacity {
		if got := text(n, "status", "capacity", resource); !sameQuantity(got, want) {
			return fmt.Sprintf("its capacity of %s is %s, not %s", resource, got, want)
		}
	}
	for key, want := range w.labels {
		if got, ok := n.GetLabels()[key]; !ok || got != want {
			return fmt.Sprintf("its label %s is %q, not %q", key, got, want)
		}
	}
	have := map[string]bool{}
	for _, t := range taintsOf(n, "spec", "taints") {
		have[t] = true
	}
	for _, want := range w.taints {
		if !have[want] {
			return "it does not have the taint " + want
		}
	}
	return ""
}

func taintsOf(o *unstructured.Unstructured, fields ...string) (out []string) {
	all, _, _ := unstructured.NestedSlice(o.Object, fields...)
	for _, t := range all {
		if m, ok := t.(map[string]any); ok {
			value, _ := m["value"].(string)
			out = append(out, fmt.Sprintf("%s=%s:%s", m["key"], value, m["effect"]))
		}
	}
	return out
}
