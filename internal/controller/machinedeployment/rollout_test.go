package machinedeployment_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
)

func TestRollingUpdate(t *testing.T) { both(t, rollingUpdate, rollingUpdate) }

// A change of the template replaces all machines on a real API server, within
// bounds whenever one looks, and leaves nothing behind on nodes. At rest,
// nothing is written.
func rollingUpdate[D, S client.Object](t *testing.T, a api[D, S]) {
	const n = 5
	c := startCluster(t, a)
	d := c.declare(n)
	c.awaitComplete(d, n)
	watch := c.watchBounds(n, n+1)
	before := c.writes.Load()
	start := time.Now()
	c.change(d, func(d D) { a.template(d, "v2") })
	c.awaitComplete(d, n)
	took := time.Since(start)
	watch()
	c.awaitRest()
	t.Logf("%d machines rolled in %s with %d writes", n, took, c.writes.Load()-before)
	for _, m := range c.machines() {
		node := c.node(m)
		if len(node.Spec.Taints) != 0 || node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] != "" {
			t.Errorf("the rollout left %v and %v on node %s", node.Spec.Taints, node.Annotations, node.Name)
		}
	}
	for _, s := range c.sets() {
		if want := a.version(s) == "v2"; want != (a.setSize(s) == n) {
			t.Errorf("the set of %s has %d replicas", a.version(s), a.setSize(s))
		}
	}
}

// watchBounds looks at the server again and again until the function that it
// returns is called.
func (c *cluster[D, S]) watchBounds(least, most int) (stop func()) {
	done, wait := make(chan struct{}), sync.WaitGroup{}
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			list := c.lens.Sets().Lens().Traits().Machines()
			if err := c.List(c.t.Context(), list, client.InNamespace(c.namespace)); err != nil {
				c.t.Error(err)
				return
			}
			all, working := itemsOf[client.Object](c.t, list), 0
			for _, m := range all {
				if m.GetDeletionTimestamp() == nil && c.lens.Machines().View(m, dialect.NoNode).Node != "" {
					working++
				}
			}
			if len(all) > most || working < least {
				c.t.Errorf("%d machines, %d of them at work; want at most %d, and at least %d", len(all), working, most, least)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() { close(done); wait.Wait() }
}

func TestNodesOfOldSets(t *testing.T) { both(t, nodesOfOldSets, nodesOfOldSets) }

// During a rollout that waits, the nodes of old machines are avoided and left alone by the autoscaler, also
// a node from which another client removed the mark (C21). What others wrote on nodes stays.
func nodesOfOldSets[D, S client.Object](t *testing.T, a api[D, S]) {
	c := startCluster(t, a)
	d := c.declare(3)
	c.awaitComplete(d, 3)
	old := c.machines()
	foreign := corev1.Taint{Key: "somebody.else", Effect: corev1.TaintEffectNoSchedule}
	c.mark(old[0], func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, foreign) })
	c.change(d, func(d D) {
		a.template(d, "v2")
		d.SetAnnotations(map[string]string{"millwright.dev/rollout-canary": "1"})
	})
	marked := func() string {
		for _, m := range c.machines() {
			node := &corev1.Node{}
			if err := c.Get(t.Context(), client.ObjectKey{Name: m.GetName()}, node); err != nil {
				return err.Error()
			}
			avoided := 0
			for _, taint := range node.Spec.Taints {
				if taint.Effect == corev1.TaintEffectPreferNoSchedule {
					avoided++
				}
			}
			isOld := false
			for _, o := range old {
				isOld = isOld || o.GetUID() == m.GetUID()
			}
			if (avoided == 1) != isOld || node.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] != "true" {
				return fmt.Sprintf("node %s (old: %v) has %v and %v", node.Name, isOld, node.Spec.Taints, node.Annotations)
			}
		}
		return ""
	}
	eventually(t, func() string {
		if n := len(c.machines()); n != 3 {
			return fmt.Sprintf("%d machines, want the canary and two old ones", n)
		}
		return marked()
	})
	var left client.Object
	for _, m := range c.machines() {
		for _, o := range old {
			if o.GetUID() == m.GetUID() {
				left = m
			}
		}
	}
	c.mark(left, func(n *corev1.Node) { n.Spec.Taints, n.Annotations = []corev1.Taint{foreign}, nil })
	eventually(t, marked)
	if n := c.node(left); len(n.Spec.Taints) != 2 {
		t.Errorf("node %s has %v; want the foreign taint kept", n.Name, n.Spec.Taints)
	}
}

// mark edits the node of a machine, as another client does.
func (c *cluster[D, S]) mark(m client.Object, edit func(*corev1.Node)) {
	c.t.Helper()
	n := c.node(m)
	before := n.DeepCopy()
	edit(n)
	c.must(c.Patch(c.t.Context(), n, client.MergeFrom(before)))
}

func TestDeleteOnAServer(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			both(t,
				func(t *testing.T, a api[*openshiftDeployment, *openshiftSet]) { deleteStory(t, a, policy) },
				func(t *testing.T, a api[*gardenerDeployment, *gardenerSet]) { deleteStory(t, a, policy) })
		})
	}
}

// A deployment takes its sets and machines with it, unless they are to
// survive. Then one of the same name takes them over.
func deleteStory[D, S client.Object](t *testing.T, a api[D, S], policy metav1.DeletionPropagation) {
	c := startCluster(t, a)
	d := c.declare(2)
	c.awaitComplete(d, 2)
	c.must(c.Delete(t.Context(), d, client.PropagationPolicy(policy)))
	want := 0
	if policy == metav1.DeletePropagationOrphan {
		want = 2
	}
	eventually(t, func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the deployment is still there with finalizers %v (%v)", d.GetFinalizers(), err)
		}
		if n := len(c.machines()); n != want {
			return fmt.Sprintf("%d machines, want %d", n, want)
		}
		return ""
	})
	if want == 0 {
		return
	}
	survivor := c.sets()[0]
	if len(survivor.GetOwnerReferences()) != 0 {
		t.Errorf("the set that survived is owned by %v", survivor.GetOwnerReferences())
	}
	again := c.declare(2)
	c.awaitComplete(again, 2)
	if sets := c.sets(); len(sets) != 1 || sets[0].GetUID() != survivor.GetUID() {
		t.Errorf("%d sets, want the one that survived", len(sets))
	}
}

func TestCostOfARollout(t *testing.T) { both(t, costStory, costStory) }

// The controller of deployments makes few writes for each machine that it
// replaces, and events are bounded.
func costStory[D, S client.Object](t *testing.T, a api[D, S]) {
	const n = 60
	c := startCluster(t, a)
	d := c.declare(n, func(d D) { a.surge(d, n/10) })
	c.awaitComplete(d, n)
	c.awaitRest()
	before := c.writes.Load()
	start := time.Now()
	c.change(d, func(d D) { a.template(d, "v2") })
	c.awaitComplete(d, n)
	took := time.Since(start)
	c.awaitRest()
	writes := c.writes.Load() - before
	var events corev1.EventList
	c.must(c.List(t.Context(), &events, client.InNamespace(c.namespace)))
	told := 0
	for _, e := range events.Items {
		if e.InvolvedObject.UID == d.GetUID() {
			told++
		}
	}
	t.Logf("%d machines rolled in %s: %d writes, %.1f a machine; %d events", n, took, writes, float64(writes)/n, told)
	// Where machines come one by one, as on a busy computer, the status follows them.
	if most := 5*n + int64(took/time.Second); writes > most {
		t.Errorf("%d writes for %d machines, want at most %d", writes, n, most)
	}
	if most := 4 + 2*int(took/(5*time.Second)+1); told > most {
		t.Errorf("%d events, want at most %d", told, most)
	}
}
