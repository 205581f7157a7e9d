package dialecttest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// World returns a world in which the cloud and the cluster answered, with the given instance and node; each
// may be nil.
func World(i *provider.Instance, n *corev1.Node) lifecycle.World {
	w := lifecycle.World{Instances: lifecycle.Instances{Looked: true}, Node: lifecycle.Node{Looked: true, Object: n}, MayFail: true, Session: lifecycle.Session{Origin: lifecycle.Origin{Cluster: "blue"}}}
	if i != nil {
		w.Instances.Own = []provider.Instance{*i}
	}
	return w
}

// Instance returns a complete instance in the given state.
func Instance(s provider.State) *provider.Instance {
	return &provider.Instance{
		ID: "i-1", ProviderID: "kubemark:///north-a/i-1", NodeName: "node-1", State: s, RawState: string(s),
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
		Type:      "large", Region: "north", Zone: "north-a", Created: Now,
	}
}

// Node returns a node whose Ready condition has the given status.
func Node(ready corev1.ConditionStatus) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid"}}
	n.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready, Reason: "KubeletSays", LastTransitionTime: metav1.NewTime(Now),
	}}
	return n
}

// Created is the effect of a successful Create.
func Created(i *provider.Instance) func(*lifecycle.World) {
	return func(w *lifecycle.World) { w.Instances.Own = []provider.Instance{*i} }
}

// Failed is the effect of a Create or Initialize that failed with err, for the first time in a row.
func Failed(s lifecycle.Step, err error) func(*lifecycle.World) {
	return func(w *lifecycle.World) { w.Retry = lifecycle.Retry{Err: err, Step: s, At: Now, Failures: 1} }
}

// Drained is the effect of a Drain.
func Drained(d drain.Decision) func(*lifecycle.World) {
	return func(w *lifecycle.World) { w.Drain.Result = &d }
}

// Removed is the effect of a Terminate after which nothing is left.
func Removed(w *lifecycle.World) {
	w.Instances.SeenToGo = w.Instances.SeenToGo || len(w.Instances.Own) > 0
	w.Removal.State, w.Instances.Own = lifecycle.RemovalDone, nil
}

// Removing is the effect of a Terminate that was accepted and is not finished.
func Removing(w *lifecycle.World) {
	w.Removal.State, w.Instances.SeenToGo = lifecycle.RemovalUnderway, true
}

// RemovalFails is the effect of a Terminate that failed with err, for the first time in a row.
func RemovalFails(err error) func(*lifecycle.World) {
	return func(w *lifecycle.World) {
		w.Removal.Err = err
		w.Retry = lifecycle.Retry{Err: err, Step: lifecycle.Terminate, At: Now, Failures: 1}
	}
}

// Forgotten is the effect of a Forget.
func Forgotten(w *lifecycle.World) { w.Node.Object = nil }

// Adopted is the effect of an Adopt.
func Adopted(w *lifecycle.World) { w.Node.Stale = false }

// Noted is the effect of successful MarkUpdate steps: the node gets each of the marks, in the order of the
// pass. Marked is the lens's.
func Noted(marked func(inplace.Mark) corev1.NodeCondition, marks ...inplace.Mark) func(*lifecycle.World) {
	return func(w *lifecycle.World) {
		w.Node.Update.Mark, w.Node.Update.Since = marks[0], Now
		w.Node.Object = Says(w.Node.Object, marked(marks[0]))
		marks = marks[1:]
	}
}

// Says returns the node with the condition instead of any of its type.
func Says(n *corev1.Node, c corev1.NodeCondition) *corev1.Node {
	n = n.DeepCopy()
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
	if c.Reason != "" {
		c.LastTransitionTime = metav1.NewTime(Now)
		n.Status.Conditions = append(n.Status.Conditions, c)
	}
	return n
}
