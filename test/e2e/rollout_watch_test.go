package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/provider"
)

// objects are the objects of a kind in a namespace that a selector matches, by name.
type objects map[string]*unstructured.Unstructured

// kind is the kind of the objects.
type kind struct {
	schema.GroupVersionResource
	namespace, selector string
}

var nodeKind = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

func (d dialect) resource(name string) schema.GroupVersionResource {
	version := "v1beta1"
	if d.group == provider.Gardener {
		version = "v1alpha1"
	}
	return schema.GroupVersionResource{Group: d.group, Version: version, Resource: name}
}

func dynamicClient(t *testing.T, f *fleet.Fleet) dynamic.Interface {
	t.Helper()
	config, err := f.Plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// observe calls look with every state of the objects, in order and one at a time. Unlike polling, it skips no state.
func observe(t *testing.T, f *fleet.Fleet, k kind, look func(objects)) {
	t.Helper()
	c := dynamicClient(t, f).Resource(k.GroupVersionResource).Namespace(k.namespace)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	list, err := c.List(ctx, metav1.ListOptions{LabelSelector: k.selector})
	if err != nil {
		t.Fatal(err)
	}
	// An API server may end a watch at any time, for example after a CRD was created. The watch then continues from its last
	// version.
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = k.selector
			return c.Watch(ctx, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	now := objects{}
	for i := range list.Items {
		now[list.Items[i].GetName()] = &list.Items[i]
	}
	look(now)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			o, ok := event.Object.(*unstructured.Unstructured)
			switch {
			case ctx.Err() != nil: // an error about a watch that was ended
				return
			case !ok || event.Type == watch.Error:
				t.Errorf("the watch of %s broke: %v", k.Resource, event.Object)
				return
			case event.Type == watch.Deleted:
				delete(now, o.GetName())
			default:
				now[o.GetName()] = o
			}
			look(now)
		}
		if ctx.Err() == nil {
			t.Errorf("the watch of %s ended", k.Resource)
		}
	}()
	t.Cleanup(func() { cancel(); w.Stop(); <-done })
}

// crowd is what was seen of the machines of one deployment.
type crowd struct {
	mu sync.Mutex
	// most limits the existing machines, including those under deletion. least limits the running machines.
	most, least int
	running     int
	broken      string
	// made and gone are the created and the deleted machines, in order. now has the instances of the existing machines.
	made, gone []string
	now        map[string]string
}

// follow watches the machines that a selector matches until the test ends. The limits apply after [crowd.bound].
func (d dialect) follow(t *testing.T, f *fleet.Fleet, selector string) *crowd {
	t.Helper()
	c := &crowd{most: 1 << 30}
	observe(t, f, kind{d.resource("machines"), d.namespace, selector}, func(now objects) { c.see(d, now) })
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.broken != "" {
			t.Error(c.broken)
		}
	})
	return c
}

func (c *crowd) see(d dialect, now objects) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = 0
	var all []string
	c.now = map[string]string{}
	for name, m := range now {
		phase := d.phase(m)
		all = append(all, name+" "+phase)
		c.now[name], _, _ = unstructured.NestedString(m.Object, "spec", "providerID")
		if phase == "Running" {
			c.running++
		}
		if phase == "leaving" && !slices.Contains(c.gone, name) {
			c.gone = append(c.gone, name)
		}
		if !slices.Contains(c.made, name) {
			c.made = append(c.made, name)
		}
	}
	if c.broken == "" && (len(now) > c.most || c.running < c.least) {
		slices.Sort(all)
		c.broken = fmt.Sprintf("%d machines, of which %d run; never more than %d, never fewer than %d running: %s",
			len(now), c.running, c.most, c.least, strings.Join(all, ", "))
	}
}

// phase returns the phase of the machine, or that it is under deletion.
func (d dialect) phase(m *unstructured.Unstructured) string {
	fields := []string{"status", "phase"}
	if d.group == provider.Gardener {
		fields = []string{"status", "currentStatus", "phase"}
	}
	phase, _, _ := unstructured.NestedString(m.Object, fields...)
	if m.GetDeletionTimestamp() != nil || phase == "Terminating" {
		return "leaving"
	}
	return phase
}

// bound waits until the limits are met, and then requires them.
func (c *crowd) bound(t *testing.T, most, least int) {
	t.Helper()
	eventually(t, fmt.Sprintf("at most %d machines and at least %d running", most, least), func(context.Context) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.now) > most || c.running < least {
			return fmt.Sprintf("%d machines, of which %d run", len(c.now), c.running), nil
		}
		c.most, c.least = most, least
		return "", nil
	})
}

// present returns the existing machines, in order of their names.
func (c *crowd) present() []string { return slices.Sorted(maps.Keys(c.instances())) }

// replaced waits until there are n machines, without any of the old ones, and returns them.
func (c *crowd) replaced(t *testing.T, old []string, n int) (now []string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d machines instead of %v", n, old), func(context.Context) (string, error) {
		now = c.present()
		isOld := func(m string) bool { return slices.Contains(old, m) }
		if len(now) != n || slices.ContainsFunc(now, isOld) {
			return fmt.Sprintf("there are %v", now), nil
		}
		return "", nil
	})
	return now
}

// left returns the machines that are deleted or under deletion, in the order of their deletion.
func (c *crowd) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.gone)
}

// came returns all machines that ever existed, in the order of their creation.
func (c *crowd) came() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.made)
}

// instances returns the provider IDs of the existing machines, by name.
func (c *crowd) instances() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// stays is the annotation that keeps the autoscaler from removing a node.
const stays = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// outdated is the taint of nodes that a rollout is about to remove.
func (d dialect) outdated() string {
	if d.group == provider.Gardener {
		return "deployment.machine.sapcloud.io/prefer-no-schedule"
	}
	return "millwright.dev/outdated"
}

// traces are the marks that a rollout was seen to leave on nodes.
type traces struct {
	mu sync.Mutex
	// avoided and spared are the nodes that ever had the taint and the annotation. marked are the nodes that have one of the
	// two now.
	avoided, spared, marked map[string]bool
}

// trace watches the nodes of a pool until the test ends.
func (d dialect) trace(t *testing.T, f *fleet.Fleet, selector string) *traces {
	t.Helper()
	c := &traces{avoided: map[string]bool{}, spared: map[string]bool{}}
	observe(t, f, kind{nodeKind, "", selector}, func(now objects) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.marked = map[string]bool{}
		for name, n := range now {
			if tainted(n, d.outdated()) {
				c.avoided[name], c.marked[name] = true, true
			}
			if n.GetAnnotations()[stays] == "true" {
				c.spared[name], c.marked[name] = true, true
			}
		}
	})
	return c
}

func tainted(n *unstructured.Unstructured, key string) bool {
	taints, _, _ := unstructured.NestedSlice(n.Object, "spec", "taints")
	return slices.ContainsFunc(taints, func(t any) bool {
		m, ok := t.(map[string]any)
		return ok && m["key"] == key && m["effect"] == "PreferNoSchedule"
	})
}

// check returns the old nodes that were never marked, and waits until no node is marked.
func (c *traces) check(t *testing.T, old []string) {
	t.Helper()
	c.mu.Lock()
	for _, name := range old {
		if !c.avoided[name] || !c.spared[name] {
			t.Errorf("old node %s: avoided by new pods %t, left alone by the autoscaler %t, want both during the rollout", name, c.avoided[name], c.spared[name])
		}
	}
	c.mu.Unlock()
	eventually(t, "no node marked after the rollout", func(context.Context) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.marked) > 0 {
			return fmt.Sprintf("still marked: %v", c.marked), nil
		}
		return "", nil
	})
}
