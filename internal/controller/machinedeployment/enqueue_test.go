package machinedeployment_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
)

func TestWakes(t *testing.T) { both(t, wakes, wakes) }

// A change that affects decisions wakes its deployment soon, one that is only reported wakes it later, and
// any other change wakes none.
func wakes[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	w.declare(2)
	r := w.controller()
	w.rest(r)
	w.sync()
	foreign := w.stray(func(s S) { s.SetName("foreign"); s.SetLabels(map[string]string{"pool": "other"}) })
	var set S
	for _, s := range w.sets() {
		if metav1.GetControllerOf(s) != nil {
			set = s
		}
	}
	free := set.DeepCopyObject().(S)
	free.SetOwnerReferences(nil)
	machine := w.machines()[0]
	node := w.node(w.lens.Machines().View(machine, dialect.NoNode).Node)
	const never = -1
	tests := map[string]struct {
		reason string
		before client.Object
		edit   func(client.Object)
		gone   bool
		after  time.Duration
	}{
		"deployment, spec":       {"its author speaks", w.deployment(), func(o client.Object) { o.SetGeneration(7) }, false, 0},
		"deployment, status":     {"we wrote that, but it may be an old one", w.deployment(), nil, false, time.Second},
		"deployment, annotation": {"an autoscaler's wish", w.deployment(), func(o client.Object) { dialect.SetAnnotation(o, "a", "b") }, false, 0},
		"set, spec":              {"somebody scaled it", set, func(o client.Object) { o.SetGeneration(7) }, false, 10 * time.Millisecond},
		"set, label":             {"it was frozen", set, func(o client.Object) { o.SetLabels(map[string]string{"pool": "a", "x": "y"}) }, false, 10 * time.Millisecond},
		"set, counters":          {"are only reported", set, nil, false, time.Second},
		"set, deletion":          {"there is one less", set, func(o client.Object) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, false, 0},
		"set, gone":              {"there is one less", set, nil, true, 0},
		"set, freed":             {"the one that had it misses it", set, func(o client.Object) { o.SetOwnerReferences(nil) }, false, 0},
		"free set":               {"may be adopted", free, nil, true, 0},
		"foreign set":            {"is none of our business", foreign, nil, true, never},
		"machine, deletion":      {"it leaves", machine, func(o client.Object) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }, false, 10 * time.Millisecond},
		"machine, gone":          {"there is room", machine, nil, true, 10 * time.Millisecond},
		"machine, heartbeat":     {"nothing is decided from it", machine, func(o client.Object) { dialect.SetAnnotation(o, "a", "b") }, false, never},
		"machine, another's":     {"no deployment has it", owned(machine, "nobody"), nil, true, never},
		"node, gone":             {"its machine has none any more", node, nil, true, 10 * time.Millisecond},
		"node, heartbeat":        {"nothing is decided from it", node, func(o client.Object) { o.(*corev1.Node).Status.NodeInfo.KubeletVersion = "v2" }, false, never},
		"node, taken marks": {"they are to be put back", node, func(o client.Object) {
			o.(*corev1.Node).Spec.Taints = nil
			o.SetAnnotations(map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"})
		}, false, 10 * time.Millisecond},
		"unknown node": {"it has no machine", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "unknown"}}, nil, true, never},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			after := tc.before.DeepCopyObject().(client.Object)
			after.SetResourceVersion("999999")
			if tc.edit != nil {
				tc.edit(after)
			}
			if tc.gone {
				after = nil
			}
			got := r.Wakes(t.Context(), tc.before, after)
			switch {
			case tc.after == never && len(got) > 0:
				t.Errorf("%s: wakes %v", tc.reason, got)
			case tc.after != never && len(got) == 0:
				t.Errorf("%s: wakes nobody", tc.reason)
			}
			for _, wake := range got {
				if wake.NamespacedName != key || wake.After != tc.after {
					t.Errorf("%s: wakes %s after %s, want %s after %s", tc.reason, wake.NamespacedName, wake.After, key, tc.after)
				}
			}
		})
	}
}

func TestHeartbeatsAreNotLookedAt(t *testing.T) {
	both(t, heartbeatsAreNotLookedAt, heartbeatsAreNotLookedAt)
}

// A thousand nodes give a hundred signs of life a second: whose they are is not
// asked for.
func heartbeatsAreNotLookedAt[D, S client.Object](t *testing.T, a api[D, S]) {
	w := newWorld(t, a)
	r := w.controller()
	now := metav1.Now()
	before := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}}
	for _, c := range []struct {
		reason string
		edit   func(*corev1.Node)
		looks  bool
	}{
		{"a heartbeat", func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = now }, false},
		{"it was not ready between two events", func(n *corev1.Node) {
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(time.Second))
		}, true},
		{"it is not ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		{"a label", func(n *corev1.Node) { n.Labels = map[string]string{"a": "b"} }, true},
	} {
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		c.edit(after)
		lists := w.lists
		r.Wakes(t.Context(), before, after)
		if looks := w.lists > lists; looks != c.looks {
			t.Errorf("%s: its machine is looked for: %v", c.reason, looks)
		}
	}
}

// owned is a copy that something else controls.
func owned(o client.Object, by string) client.Object {
	o = o.DeepCopyObject().(client.Object)
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: by, UID: "x", Controller: &yes}})
	return o
}
