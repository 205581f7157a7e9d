package nodemeta

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/api/millwright"
)

// forged is a record that a kubelet may write on its own node so that metadata is removed.
const forged = `{"metadata":{"labels":{"node-restriction.kubernetes.io/tenant":"low","a":"b"},"annotations":{"c":"d"}},` +
	`"spec":{"taints":[{"key":"quarantine","effect":"NoSchedule"}]}}`

func suspect() *corev1.Node {
	return node("n", withLabel("node-restriction.kubernetes.io/tenant", "low"), withLabel("a", "b"), withAnnotation("c", "d"),
		withTaint("quarantine", "compromised", corev1.TaintEffectNoSchedule), withCapacity("x.io/v", "1"),
		withAnnotation(appliedKey, forged), withAnnotation(capacityKey, `{"x.io/v":"1"}`))
}

// TestForgedRecord: a record on the node removes only metadata that its kubelet may remove itself, and
// nothing if the machine has a record.
func TestForgedRecord(t *testing.T) {
	for _, c := range []struct {
		reason string
		owned  *Owned
		left   string
	}{
		{"the machine knows that it put nothing there", &Owned{}, "node-restriction.kubernetes.io/tenant a c quarantine x.io/v"},
		{"the machine put one label there", &Owned{Labels: []string{"a"}}, "node-restriction.kubernetes.io/tenant c quarantine x.io/v"},
		{"the machine put all of it there", &Owned{
			Labels: []string{"a", "node-restriction.kubernetes.io/tenant"}, Annotations: []string{"c"}, Taints: []string{"quarantine:NoSchedule"}, Capacity: []string{"x.io/v"},
		}, ""},
		{"another effect is another taint", &Owned{Taints: []string{"quarantine:NoExecute"}}, "node-restriction.kubernetes.io/tenant a c quarantine x.io/v"},
		{"a machine that was taken over does not know", nil, "node-restriction.kubernetes.io/tenant quarantine"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			n, _, err := threeWay(Want{Owned: c.owned}).Plan(suspect())
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, k := range []string{"node-restriction.kubernetes.io/tenant", "a"} {
				if _, ok := n.Labels[k]; ok {
					left = append(left, k)
				}
			}
			if n.Annotations["c"] != "" {
				left = append(left, "c")
			}
			for _, taint := range n.Spec.Taints {
				left = append(left, taint.Key)
			}
			left = append(left, names(n.Status.Capacity)...)
			if got := strings.Join(left, " "); got != c.left {
				t.Errorf("%s: left are %q, want %q", c.reason, got, c.left)
			}
		})
	}
}

// TestUnreadableRecordDoesNotMatter if the machine has a record: it is written again.
func TestUnreadableRecordDoesNotMatter(t *testing.T) {
	w := threeWay(Want{Labels: map[string]string{"a": "1"}, Capacity: corev1.ResourceList{"x.io/v": resource.MustParse("1")}, Owned: &Owned{}})
	n, _, err := w.Plan(node("n", withAnnotation(appliedKey, "{"), withAnnotation(capacityKey, "{")))
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Annotations[appliedKey]; got != `{"metadata":{"labels":{"a":"1"}},"spec":{}}` || n.Annotations[capacityKey] != `{"x.io/v":"1"}` {
		t.Errorf("recorded are %v", n.Annotations)
	}
}

// TestNoAnnotationTakesAnythingAway: with any annotations, a node keeps the metadata that its machine did not
// set.
func TestNoAnnotationTakesAnythingAway(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "node-restriction.kubernetes.io/c", "kubernetes.io/d", "x.io/e"})
	keys := rapid.SliceOfDistinct(key, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		list := func(what string) string {
			var out []string
			for _, k := range keys.Draw(t, what) {
				out = append(out, fmt.Sprintf("%q:%q", k, "1"))
			}
			return "{" + strings.Join(out, ",") + "}"
		}
		var edits []func(*corev1.Node)
		for _, k := range keys.Draw(t, "there") {
			edits = append(edits, withLabel(k, "1"), withAnnotation(k, "1"), withTaint(k, "1", corev1.TaintEffectNoSchedule), withCapacity(k, "1"))
		}
		var taints []string
		for _, k := range keys.Draw(t, "forged taints") {
			taints = append(taints, fmt.Sprintf(`{"key":%q,"effect":"NoSchedule"}`, k))
		}
		edits = append(edits, withAnnotation(capacityKey, list("forged capacity")), withAnnotation(appliedKey, fmt.Sprintf(
			`{"metadata":{"labels":%s,"annotations":%s},"spec":{"taints":[%s]}}`, list("forged labels"), list("forged annotations"), strings.Join(taints, ","))))
		have := node("n", edits...)
		put := Want{Labels: map[string]string{}}
		for _, k := range keys.Draw(t, "put") {
			put.Labels[k] = "1"
			put.Taints = append(put.Taints, corev1.Taint{Key: k, Effect: corev1.TaintEffectNoSchedule})
		}
		w := threeWay(Want{})
		known := rapid.Bool().Draw(t, "the machine knows")
		if o := put.Puts(); known {
			w.Owned = ReadOwned(map[string]string{millwright.OnNode: o.String()})
		}
		got, _, err := w.Plan(have)
		if err != nil {
			t.Fatal(err)
		}
		for k := range have.Labels {
			_, is := got.Labels[k]
			_, ours := put.Labels[k]
			if mine := known && ours; !is && !mine && (known || guarded(k)) {
				t.Fatalf("label %s is gone", k)
			}
		}
		for _, was := range have.Spec.Taints {
			_, ours := put.Labels[was.Key]
			if taint(got.Spec.Taints, was) < 0 && (!known || !ours) {
				t.Fatalf("taint %s is gone", was.Key)
			}
		}
		if known && (len(got.Status.Capacity) != len(have.Status.Capacity) || len(got.Annotations) < len(have.Annotations)-1) {
			t.Fatalf("capacity %v and annotations %v of %v and %v", got.Status.Capacity, got.Annotations, have.Status.Capacity, have.Annotations)
		}
	})
}

// TestOwnedIsBounded: a machine with a huge template can still be written, and taints are recorded first.
func TestOwnedIsBounded(t *testing.T) {
	w := Want{Annotations: map[string]string{}, Labels: map[string]string{}, Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}
	for n := range 5000 {
		w.Annotations[fmt.Sprintf("example.com/a-%d", n)], w.Labels[fmt.Sprintf("example.com/l-%d", n)] = "", ""
	}
	raw := w.Puts().String()
	if o := ReadOwned(map[string]string{millwright.OnNode: raw}); len(raw) > mostOwned || o == nil || len(o.Taints) != 1 || len(o.Labels) < 100 {
		t.Errorf("%d bytes: %v", len(raw), o)
	}
	for _, bad := range []string{"", "{", `{"labels":1}`} {
		t.Run(bad, func(t *testing.T) {
			if o := ReadOwned(map[string]string{millwright.OnNode: bad}); o != nil {
				t.Errorf("%q is read as %v", bad, o)
			}
		})
	}
}
