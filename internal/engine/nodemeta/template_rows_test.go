package nodemeta

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRowsOfGardenerNodeTemplate: section 2.6 of the Gardener notes, sentence by
// sentence. That a record in bad JSON is an error is
// TestPlanNamesAnUnreadableRecord.
func TestRowsOfGardenerNodeTemplate(t *testing.T) {
	const no = corev1.TaintEffectNoSchedule
	early, late := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	since := func(at metav1.Time) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "k", Value: "v", Effect: no, TimeAdded: &at})
		}
	}
	said := func(record string) func(*corev1.Node) { return withAnnotation(appliedKey, record) }
	counted := func(record string) func(*corev1.Node) { return withAnnotation(capacityKey, record) }
	capacity := func(q string) Want {
		return threeWay(Want{Capacity: corev1.ResourceList{"x.io/v": resource.MustParse(q)}})
	}
	tainted := func(t corev1.Taint) Want { return threeWay(Want{Taints: []corev1.Taint{t}}) }
	const one = `{"metadata":{},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}}`
	for _, c := range []struct {
		name  string
		have  *corev1.Node
		want  Want
		after *corev1.Node
	}{
		{
			"keys in last-applied but not in nodeTemplate.metadata are removed from Node: labels",
			node("n", withLabel("a", "1"), said(`{"metadata":{"labels":{"a":"1"}},"spec":{}}`)), threeWay(Want{}), node("n", said(`{"metadata":{},"spec":{}}`)),
		},
		{
			"keys in last-applied but not in nodeTemplate.metadata are removed from Node: annotations",
			node("n", withAnnotation("a", "1"), said(`{"metadata":{"annotations":{"a":"1"}},"spec":{}}`)), threeWay(Want{}), node("n", said(`{"metadata":{},"spec":{}}`)),
		},
		{
			"keys in the template are set", node("n", said(`{"metadata":{},"spec":{}}`)), threeWay(Want{Labels: map[string]string{"a": "1"}}),
			node("n", withLabel("a", "1"), said(`{"metadata":{"labels":{"a":"1"}},"spec":{}}`)),
		},
		{
			"keys in the template are overwritten", node("n", withAnnotation("a", "theirs")), threeWay(Want{Annotations: map[string]string{"a": "1"}}),
			node("n", withAnnotation("a", "1"), said(`{"metadata":{"annotations":{"a":"1"}},"spec":{}}`)),
		},
		{
			"taints: same by (key,effect)", node("n", withTaint("k", "v", no), withTaint("k", "v", corev1.TaintEffectNoExecute), said(one)), threeWay(Want{}),
			node("n", withTaint("k", "v", corev1.TaintEffectNoExecute), said(`{"metadata":{},"spec":{}}`)),
		},
		{
			"value difference overwrites", node("n", withTaint("k", "theirs", no), said(one)), tainted(corev1.Taint{Key: "k", Value: "v", Effect: no}),
			node("n", withTaint("k", "v", no), said(one)),
		},
		{
			"timeAdded difference overwrites", node("n", since(early)), tainted(corev1.Taint{Key: "k", Value: "v", Effect: no, TimeAdded: &late}),
			node("n", since(late), said(`{"metadata":{},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule","timeAdded":"1970-01-01T00:00:02Z"}]}}`)),
		},
		{
			"foreign keys untouched", node("n", withLabel("x", "1"), withAnnotation("y", "1"), withTaint("z", "", no), said(`{"metadata":{"labels":{"a":"1"}},"spec":{}}`)), threeWay(Want{}),
			node("n", withLabel("x", "1"), withAnnotation("y", "1"), withTaint("z", "", no), said(`{"metadata":{},"spec":{}}`)),
		},
		{
			"Node had nil annotations ⇒ store JSON: different, not of a template that wants nothing", node("n"), threeWay(Want{}), node("n"),
		},
		{
			"virtual capacity: keys last-applied but not desired are deleted from node.status.capacity, annotation removed when desired is empty",
			node("n", withCapacity("cpu", "4"), withCapacity("x.io/v", "1"), counted(`{"x.io/v":"1"}`)), threeWay(Want{}), node("n", withCapacity("cpu", "4"), withEmpty),
		},
		{
			"virtual capacity: desired keys set if absent", node("n"), capacity("1"), node("n", withCapacity("x.io/v", "1"), counted(`{"x.io/v":"1"}`)),
		},
		{
			"virtual capacity: desired keys set if unequal", node("n", withCapacity("x.io/v", "2"), counted(`{"x.io/v":"1"}`)), capacity("1"),
			node("n", withCapacity("x.io/v", "1"), counted(`{"x.io/v":"1"}`)),
		},
		{
			"only if MCC.nodeTemplate ≠ nil: what others count is theirs", node("n", withCapacity("x.io/v", "1")), threeWay(Want{}), node("n", withCapacity("x.io/v", "1")),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := remembered(c.have, c.want).Plan(c.have)
			if err != nil || !equality.Semantic.DeepEqual(got, c.after) {
				t.Errorf("%v, %s", err, cmp.Diff(c.after, got))
			}
		})
	}
}

// withEmpty has no annotations left, and says so.
func withEmpty(n *corev1.Node) { n.Annotations = map[string]string{} }
