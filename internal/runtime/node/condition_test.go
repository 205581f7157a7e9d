package node

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// update is the condition of the tests.
func update(reason string) corev1.NodeCondition {
	return corev1.NodeCondition{Type: "Update", Status: corev1.ConditionTrue, Reason: reason, Message: "message of " + reason}
}

func withConditions(types ...corev1.NodeConditionType) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for _, t := range types {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionTrue, Reason: "Test"})
		}
	}
}

// conditions are "type reason", sorted.
func conditions(n *corev1.Node) (out []string) {
	for _, c := range n.Status.Conditions {
		out = append(out, string(c.Type)+" "+c.Reason)
	}
	slices.Sort(out)
	return out
}

func TestConditionTouchesNoOther(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1", withConditions("Ready", "DiskPressure")))
	for _, step := range []struct {
		reason string
		want   corev1.NodeCondition
		after  []string
		writes int
	}{
		{"set", update("Candidate"), []string{"DiskPressure Test", "Ready Test", "Update Candidate"}, 1},
		{"changed", update("Selected"), []string{"DiskPressure Test", "Ready Test", "Update Selected"}, 2},
		{"the same again costs nothing", update("Selected"), []string{"DiskPressure Test", "Ready Test", "Update Selected"}, 2},
		{"taken away", corev1.NodeCondition{Type: "Update"}, []string{"DiskPressure Test", "Ready Test"}, 3},
		{"what is not there costs nothing", corev1.NodeCondition{Type: "Update"}, []string{"DiskPressure Test", "Ready Test"}, 3},
	} {
		got, err := w.Condition(t.Context(), w.read(t, "w1"), step.want)
		if err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if now := conditions(w.read(t, "w1")); !slices.Equal(now, step.after) || !slices.Equal(conditions(got), step.after) || len(w.writes) != step.writes {
			t.Errorf("%s: %q, returned %q, after %q, want %q", step.reason, now, conditions(got), w.writes, step.after)
		}
	}
}

func TestConditionIsStamped(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"))
	n, err := w.Condition(t.Context(), w.read(t, "w1"), update("Candidate"))
	if err != nil {
		t.Fatal(err)
	}
	w.clock.SetTime(start.Add(time.Hour))
	if n, err = w.Condition(t.Context(), n, update("Selected")); err != nil {
		t.Fatal(err)
	}
	if c := n.Status.Conditions[0]; !c.LastTransitionTime.Time.Equal(start.Add(time.Hour)) || !c.LastHeartbeatTime.Equal(&c.LastTransitionTime) {
		t.Errorf("since %v: patience with a drain is counted from the reason, not from the status", c.LastTransitionTime)
	}
}

// TestConditionHoldsToItsGrounds: written only onto the node that it was decided
// on. What comes in every few seconds is no other node.
func TestConditionHoldsToItsGrounds(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Node)
		refuse bool
	}{
		"heartbeat":          {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(start) }, false},
		"images":             {func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}} }, false},
		"label":              {func(n *corev1.Node) { n.Labels = map[string]string{"selected": "true"} }, true},
		"the same condition": {func(n *corev1.Node) { n.Status.Conditions = append(n.Status.Conditions, update("Ready")) }, true},
		"health":             {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{}, node("w1", withConditions("Ready")))
			stale := w.read(t, "w1")
			now := stale.DeepCopy()
			tc.change(now)
			if err := w.Client.Patch(t.Context(), now.DeepCopy(), client.MergeFrom(stale)); err != nil {
				t.Fatal(err)
			}
			if err := w.Client.Status().Patch(t.Context(), now, client.MergeFrom(stale)); err != nil {
				t.Fatal(err)
			}
			_, err := w.Condition(t.Context(), stale, update("Selected"))
			if apierrors.IsConflict(err) != tc.refuse {
				t.Fatalf("came to %v, want a conflict: %v", err, tc.refuse)
			}
			if got := slices.Contains(conditions(w.read(t, "w1")), "Update Selected"); got == tc.refuse {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestConditionOfAnotherNode(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{}, node("w1"))
	old := w.read(t, "w1")
	if err := w.Client.Delete(t.Context(), old.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Condition(t.Context(), old, update("Selected")); !apierrors.IsNotFound(err) {
		t.Errorf("a node that is gone: %v", err)
	}
	successor := node("w1")
	successor.UID = "another"
	if err := w.Client.Create(t.Context(), successor); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Condition(t.Context(), old, update("Selected")); err == nil || len(w.read(t, "w1").Status.Conditions) > 0 {
		t.Errorf("a node of the same name: %v, %v", err, w.read(t, "w1").Status.Conditions)
	}
	var none *Cluster
	if n, err := none.Condition(t.Context(), old, update("Selected")); n != old || err != nil {
		t.Errorf("without a cluster: %v, %v", n, err)
	}
}

// TestConditionOnRealServer: the API server merges by type, takes one away, and
// holds a patch to its version, while a kubelet reports in between.
func TestConditionOnRealServer(t *testing.T) {
	c, _ := realCluster(t, clock.RealClock{})
	n := createNode(t, c, node("condition"))
	beat := func(at time.Time) {
		raw := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Test","lastHeartbeatTime":"` + at.UTC().Format(time.RFC3339) + `"}]}}`)
		if err := c.Client.Status().Patch(t.Context(), n.DeepCopy(), client.RawPatch("application/strategic-merge-patch+json", raw)); err != nil {
			t.Fatal(err)
		}
	}
	live := func() *corev1.Node {
		var now corev1.Node
		if err := c.Live.Get(t.Context(), client.ObjectKeyFromObject(n), &now); err != nil {
			t.Fatal(err)
		}
		return &now
	}
	beat(time.Now().Add(-time.Hour))
	eventually(t, "the controllers are done with the new node", func(context.Context) (bool, error) {
		return len(live().Spec.Taints) == 0, nil // they take the one off that new nodes have
	})
	seen := live()
	for i, reason := range []string{"Candidate", "Selected", ""} {
		want := update(reason)
		if reason == "" {
			want = corev1.NodeCondition{Type: "Update"}
		}
		beat(time.Now().Add(time.Duration(i) * time.Minute)) // the cache has not seen it
		after, err := c.Condition(t.Context(), seen, want)
		if err != nil {
			t.Fatalf("%q: %v", reason, err)
		}
		got := conditions(live())
		if slices.Contains(got, "Update "+reason) != (reason != "") || !slices.Contains(got, "Ready Test") {
			t.Errorf("%q: %q", reason, got)
		}
		seen = after
	}
	old := live()
	base := old.DeepCopy()
	base.Labels = map[string]string{"selected": "true"}
	if err := c.Client.Patch(t.Context(), base, client.MergeFrom(old)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Condition(t.Context(), old, update("Candidate")); !apierrors.IsConflict(err) {
		t.Errorf("decided on other labels: %v", err)
	}
}
