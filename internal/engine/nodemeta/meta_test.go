package nodemeta

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

const (
	appliedKey  = "node.machine.sapcloud.io/last-applied-anno-labels-taints"
	capacityKey = "node.machine.sapcloud.io/last-applied-virtual-capacity"
	finalizer   = "node.machine.sapcloud.io/machine-controller"
)

func threeWay(w Want) Want {
	w.AppliedKey, w.CapacityKey = appliedKey, capacityKey
	return w
}

// remembered returns w of a machine whose record equals that on the node.
func remembered(n *corev1.Node, w Want) Want {
	var last applied
	var capacity corev1.ResourceList
	if w.AppliedKey == "" || recorded(n, w.AppliedKey, &last) != nil || recorded(n, w.CapacityKey, &capacity) != nil {
		return w
	}
	o := threeWay(Want{Labels: last.Metadata.Labels, Annotations: last.Metadata.Annotations, Taints: last.Spec.Taints, Capacity: capacity}).Puts()
	w.Owned = &o
	return w
}

func additive(w Want) Want {
	w.Additive = true
	return w
}

func withCapacity(name, q string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		if n.Status.Capacity == nil {
			n.Status.Capacity = corev1.ResourceList{}
		}
		n.Status.Capacity[corev1.ResourceName(name)] = resource.MustParse(q)
	}
}

func withFinalizers(f ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Finalizers = f }
}

func TestPlan(t *testing.T) {
	const noSchedule, noExecute = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	taints := func(t ...corev1.Taint) []corev1.Taint { return t }
	tests := []struct {
		reason    string
		have      *corev1.Node
		want      Want
		after     *corev1.Node
		unchanged bool
	}{
		{
			reason: "additive: labels and annotations are overwritten, foreign ones stay",
			have:   node("n", withLabel("a", "old"), withLabel("x", "1"), withAnnotation("b", "old")),
			want:   additive(Want{Labels: map[string]string{"a": "new"}, Annotations: map[string]string{"b": "new"}}),
			after:  node("n", withLabel("a", "new"), withLabel("x", "1"), withAnnotation("b", "new")),
		},
		{
			reason: "additive: a taint of the same key and effect stays, whatever its value",
			have:   node("n", withTaint("k", "old", noSchedule)),
			want:   additive(Want{Taints: taints(corev1.Taint{Key: "k", Value: "new", Effect: noSchedule})}), after: node("n", withTaint("k", "old", noSchedule)),
			unchanged: true,
		},
		{
			reason: "additive: of another effect it is another taint",
			have:   node("n", withTaint("k", "old", noExecute)),
			want:   additive(Want{Taints: taints(corev1.Taint{Key: "k", Value: "new", Effect: noSchedule})}),
			after:  node("n", withTaint("k", "old", noExecute), withTaint("k", "new", noSchedule)),
		},
		{
			reason: "additive: nothing is recorded, nothing removed",
			have:   node("n", withLabel("a", "1"), withTaint("k", "", noSchedule)), want: additive(Want{AppliedKey: appliedKey}),
			after: node("n", withLabel("a", "1"), withTaint("k", "", noSchedule)), unchanged: true,
		},
		{
			reason: "three-way: the first time everything is set and recorded",
			have:   node("n"), want: threeWay(Want{Labels: map[string]string{"a": "1"}, Taints: taints(corev1.Taint{Key: "k", Value: "v", Effect: noSchedule})}),
			after: node("n", withLabel("a", "1"), withTaint("k", "v", noSchedule),
				withAnnotation(appliedKey, `{"metadata":{"labels":{"a":"1"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}}`)),
		},
		{
			reason: "three-way: a record by another program that says the same is not rewritten",
			have: node("n", withLabel("a", "1"),
				withAnnotation(appliedKey, `{"metadata":{"creationTimestamp":null,"labels":{"a":"1"}},"spec":{}}`)),
			want: threeWay(Want{Labels: map[string]string{"a": "1"}}),
			after: node("n", withLabel("a", "1"),
				withAnnotation(appliedKey, `{"metadata":{"creationTimestamp":null,"labels":{"a":"1"}},"spec":{}}`)),
			unchanged: true,
		},
		{
			reason: "three-way: what is declared no more goes, what is foreign stays",
			have: node("n", withLabel("a", "1"), withLabel("x", "1"), withAnnotation("b", "1"), withTaint("k", "v", noSchedule), withTaint("f", "", noExecute),
				withAnnotation(appliedKey, `{"metadata":{"labels":{"a":"1"},"annotations":{"b":"1"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}}`)),
			want:  threeWay(Want{}),
			after: node("n", withLabel("x", "1"), withTaint("f", "", noExecute), withAnnotation(appliedKey, `{"metadata":{},"spec":{}}`)),
		},
		{
			reason: "three-way: a taint's value follows",
			have: node("n", withTaint("k", "old", noSchedule),
				withAnnotation(appliedKey, `{"metadata":{},"spec":{"taints":[{"key":"k","value":"old","effect":"NoSchedule"}]}}`)),
			want: threeWay(Want{Taints: taints(corev1.Taint{Key: "k", Value: "new", Effect: noSchedule})}),
			after: node("n", withTaint("k", "new", noSchedule),
				withAnnotation(appliedKey, `{"metadata":{},"spec":{"taints":[{"key":"k","value":"new","effect":"NoSchedule"}]}}`)),
		},
		{
			reason: "three-way: what somebody changed is changed back",
			have:   node("n", withLabel("a", "theirs"), withAnnotation(appliedKey, `{"metadata":{"labels":{"a":"1"}},"spec":{}}`)),
			want:   threeWay(Want{Labels: map[string]string{"a": "1"}}),
			after:  node("n", withLabel("a", "1"), withAnnotation(appliedKey, `{"metadata":{"labels":{"a":"1"}},"spec":{}}`)),
		},
		{
			reason: "three-way: wanting nothing on a bare node writes nothing", have: node("n"), want: threeWay(Want{}), after: node("n"), unchanged: true,
		},
		{
			reason: "marks are set and not recorded",
			have:   node("n"), want: threeWay(Want{MarkLabels: map[string]string{"example.com/mark": "m"}}),
			after: node("n", withLabel("example.com/mark", "m")),
		},
		{
			reason: "virtual capacity is set and recorded", have: node("n", withCapacity("cpu", "4")),
			want:  threeWay(Want{Capacity: corev1.ResourceList{"x.io/v": resource.MustParse("1k")}}),
			after: node("n", withCapacity("cpu", "4"), withCapacity("x.io/v", "1k"), withAnnotation(capacityKey, `{"x.io/v":"1k"}`)),
		},
		{
			reason: "virtual capacity that is wanted no more goes, with its record",
			have:   node("n", withCapacity("cpu", "4"), withCapacity("x.io/v", "1"), withAnnotation(capacityKey, `{"x.io/v":"1"}`)),
			want:   threeWay(Want{}), after: node("n", withCapacity("cpu", "4")),
		},
		{
			reason: "our finalizer joins the others", have: node("n", withFinalizers("theirs")), want: Want{Finalizer: finalizer},
			after: node("n", withFinalizers("theirs", finalizer)),
		},
		{
			reason: "and leaves alone", have: node("n", withFinalizers("theirs", finalizer)), want: Want{DropFinalizer: finalizer, Unschedulable: ptr.To(true)},
			after: node("n", withFinalizers("theirs"), cordoned),
		},
		{
			reason: "a node is made schedulable again", have: node("n", cordoned), want: Want{Unschedulable: ptr.To(false)}, after: node("n"),
		},
		{
			reason: "without a rule what is declared is left alone", have: node("n"), want: Want{Labels: map[string]string{"a": "1"}}, after: node("n"), unchanged: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			before := tt.have.DeepCopy()
			tt.want = remembered(tt.have, tt.want)
			got, changed, err := tt.want.Plan(tt.have)
			if err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(got, tt.after) {
				t.Error(cmp.Diff(tt.after, got))
			}
			if changed == tt.unchanged {
				t.Errorf("changed: %v", changed)
			}
			if !equality.Semantic.DeepEqual(before, tt.have) {
				t.Error("the node given was changed")
			}
			if _, again, err := tt.want.Plan(got); again || err != nil {
				t.Errorf("a second plan changes something: %v, %v", again, err)
			}
		})
	}
}

func TestPlanNamesAnUnreadableRecord(t *testing.T) {
	for _, key := range []string{appliedKey, capacityKey} {
		t.Run(key, func(t *testing.T) {
			_, _, err := threeWay(Want{}).Plan(node("n", withAnnotation(key, "{")))
			if err == nil || !strings.Contains(err.Error(), "node n: annotation "+key) {
				t.Errorf("got %v, want an error that names %s", err, key)
			}
		})
	}
}

// Under both rules foreign keys survive any series of wishes, and under the three-way rule the last wish
// alone decides about our keys.
func TestPlanConverges(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	wish := rapid.Custom(func(t *rapid.T) Want {
		w := Want{
			Labels:      rapid.MapOf(key, rapid.SampledFrom([]string{"1", "2"})).Draw(t, "labels"),
			Annotations: rapid.MapOf(key, rapid.SampledFrom([]string{"1", "2"})).Draw(t, "annotations"),
		}
		for k := range rapid.MapOf(key, rapid.Just("")).Draw(t, "taints") {
			w.Taints = append(w.Taints, corev1.Taint{Key: k, Effect: corev1.TaintEffectNoSchedule})
		}
		return w
	})
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom([]func(Want) Want{threeWay, additive}).Draw(t, "rule")
		n := node("n", withLabel("foreign", "1"), withAnnotation("foreign", "1"), withTaint("foreign", "", corev1.TaintEffectNoExecute))
		var last Want
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			had := last.Puts()
			last = rule(wish.Draw(t, "wish"))
			last.Owned = &had
			var err error
			if n, _, err = last.Plan(n); err != nil {
				t.Fatal(err)
			}
		}
		if n.Labels["foreign"] != "1" || n.Annotations["foreign"] != "1" || taint(n.Spec.Taints, corev1.Taint{Key: "foreign", Effect: corev1.TaintEffectNoExecute}) < 0 {
			t.Fatalf("what others put there is gone: %+v", n)
		}
		for k, v := range last.Labels {
			if n.Labels[k] != v {
				t.Fatalf("label %s is %q, want %q", k, n.Labels[k], v)
			}
		}
		if !last.Additive && (len(n.Labels) != len(last.Labels)+1 || len(n.Spec.Taints) != len(last.Taints)+1) {
			t.Fatalf("something of ours is left over: %+v, want %+v", n, last)
		}
	})
}
