package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// The words of an update in place, as the node agent and the deployment
// controller know them.
const (
	candidateLabel = "node.machine.sapcloud.io/candidate-for-update"
	selectedLabel  = "node.machine.sapcloud.io/selected-for-update"
	resultLabel    = "node.machine.sapcloud.io/update-result"
)

func (g *rig[M]) node() *corev1.Node {
	g.Helper()
	n := &corev1.Node{}
	if err := g.target.WithWatch.Get(g.Context(), client.ObjectKey{Name: "node-1"}, n); err != nil {
		g.Fatal(err)
	}
	return n
}

// edit changes the node as others do.
func (g *rig[M]) edit(change func(*corev1.Node)) {
	g.Helper()
	n := g.node()
	after := n.DeepCopy()
	change(after)
	if err := g.target.WithWatch.Patch(g.Context(), after, client.MergeFrom(n)); err != nil {
		g.Fatal(err)
	}
}

// label sets labels of the node; an empty value takes one away.
func (g *rig[M]) label(pairs ...string) {
	g.Helper()
	g.edit(func(n *corev1.Node) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i+1] == "" {
				delete(n.Labels, pairs[i])
				continue
			}
			metav1.SetMetaDataLabel(&n.ObjectMeta, pairs[i], pairs[i+1])
		}
	})
}

// says is the reason of the node's condition; empty if there is no condition.
func (g *rig[M]) says() string {
	for _, c := range g.node().Status.Conditions {
		if c.Type == "InPlaceUpdate" {
			return c.Reason
		}
	}
	return ""
}

// reports is the kubelet, which knows its own condition only.
func (g *rig[M]) reports(ready corev1.ConditionStatus) {
	g.Helper()
	n := g.node()
	after := n.DeepCopy()
	now := metav1.NewTime(g.clock.Now())
	for i := range after.Status.Conditions {
		if c := &after.Status.Conditions[i]; c.Type == corev1.NodeReady {
			if c.LastHeartbeatTime = now; c.Status != ready {
				c.Status, c.LastTransitionTime = ready, now
			}
		}
	}
	if err := g.target.WithWatch.SubResource("status").Patch(g.Context(), after, client.StrategicMergeFrom(n)); err != nil {
		g.Fatal(err)
	}
}

// pod puts a pod on the node; stuck ones do not end by themselves.
func (g *rig[M]) pod(name string, stuck bool) {
	g.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, UID: "pod-uid"}}
	p.Spec.NodeName = "node-1"
	if stuck {
		p.Finalizers = []string{"example.com/flush"}
	}
	if err := g.target.WithWatch.Create(g.Context(), p); err != nil {
		g.Fatal(err)
	}
	g.target.writes = nil
}

func (g *rig[M]) ends(name string) {
	g.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := g.target.WithWatch.Patch(g.Context(), p, patch); err != nil {
		g.Fatal(err)
	}
}

// is checks the machine's phase and last operation, and what its node says.
func is(g *rig[*v1alpha1.Machine], phase v1alpha1.MachinePhase, operation, says string) {
	g.Helper()
	s := g.read().Status
	got := string(s.LastOperation.Type) + " " + string(s.LastOperation.State)
	if s.CurrentStatus.Phase != phase || got != operation || g.says() != says {
		g.Fatalf("%s, %s (%s), node %q, want %s, %s, node %q", s.CurrentStatus.Phase, got, s.LastOperation.Description, g.says(), phase, operation, says)
	}
	if says != "" && !slices.ContainsFunc(s.Conditions, func(c corev1.NodeCondition) bool { return c.Type == "InPlaceUpdate" && c.Reason == says }) {
		g.Fatalf("the machine's copy of the conditions does not say %s: %v", says, s.Conditions)
	}
}

// updatingRig is one whose node is drained and ready for its agent.
func updatingRig(t *testing.T, edits ...func(*v1alpha1.Machine)) *rig[*v1alpha1.Machine] {
	g := gardenerRig(t, edits...)
	g.settle()
	g.label(candidateLabel, "true", selectedLabel, "true")
	g.pass()
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")
	g.written()
	g.told()
	return g
}

// TestUpdateInPlace goes from candidate to Running again, over a drain that
// takes its time and a restart of the node: 2.9, and the rows of 1.3.
func TestUpdateInPlace(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)

	g.label(candidateLabel, "true")
	g.pass()
	is(g, "Running", "Create Successful", "CandidateForUpdate")

	g.label(selectedLabel, "true")
	g.written()
	res := g.pass()
	is(g, "Running", "DrainNode Processing", "SelectedForUpdate")
	if !g.node().Spec.Unschedulable || res.RequeueAfter == 0 || !strings.Contains(g.read().Status.LastOperation.Description, "db/db-0") {
		t.Fatalf("unschedulable %v, again in %v: %s", g.node().Spec.Unschedulable, res.RequeueAfter, g.read().Status.LastOperation.Description)
	}
	if !slices.Contains(g.node().Finalizers, "node.machine.sapcloud.io/machine-controller") {
		t.Fatal("the node lost the finalizer although it stays")
	}

	g.ends("db-0")
	g.written()
	g.pass()
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")
	want := []string{"patch Machine/status!", "patch Machine/status!", "patch Node/status!", "patch Node/status!"}
	if got := g.written(); !slices.Equal(got, want) {
		t.Errorf("the drained node costs %q, want %q", got, want)
	}

	g.clock.Step(time.Minute)
	g.reports(corev1.ConditionUnknown)
	for range 3 {
		g.clock.Step(6 * time.Minute)
		if res := g.pass(); res.RequeueAfter == 0 {
			t.Fatal("the end of the agent's time would be missed")
		}
		is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")
	}

	g.reports(corev1.ConditionTrue)
	g.label(resultLabel, "successful")
	res = g.pass()
	is(g, "InPlaceUpdateSuccessful", "InPlaceUpdate Successful", "UpdateSuccessful")
	g.clock.Step(res.RequeueAfter)
	g.pass()
	is(g, "Running", "HealthCheck Successful", "UpdateSuccessful")
	if !g.node().Spec.Unschedulable {
		t.Error("uncordoned: that is for the deployment, once it has taken the machine over")
	}

	// The deployment takes the machine over; years later it rolls again.
	g.label(candidateLabel, "", selectedLabel, "", resultLabel, "")
	g.written()
	g.pass()
	if got := g.written(); len(got) > 0 {
		t.Errorf("what is over costs %q", got)
	}
	g.label(candidateLabel, "true")
	g.pass()
	is(g, "Running", "HealthCheck Successful", "CandidateForUpdate")
	if len(g.cloud.instances) != 1 || g.cloud.count("Create") != 1 || g.cloud.count("Delete") != 0 {
		t.Error("the instance is not the one that it was")
	}
}

// TestUpdateFails: the agent's answer, then the set's turn, and no way back for
// a node that only looks healthy.
func TestUpdateFails(t *testing.T) {
	g := updatingRig(t)
	g.edit(func(n *corev1.Node) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, "node.machine.sapcloud.io/update-failed-reason", "no space left")
	})
	g.label(resultLabel, "failed")
	res := g.pass()
	is(g, "InPlaceUpdateFailed", "InPlaceUpdate Failed", "UpdateFailed")
	if d := g.read().Status.LastOperation.Description; !strings.Contains(d, "no space left") {
		t.Errorf("the agent's reason is not in %q", d)
	}
	g.clock.Step(res.RequeueAfter)
	for range 2 {
		g.pass()
		is(g, "Failed", "InPlaceUpdate Failed", "UpdateFailed")
	}
}

// TestUpdateRetried: C33. Taking the answer away asks for another try, without
// waiting for the health timeout.
func TestUpdateRetried(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		labels       []string
		phase        v1alpha1.MachinePhase
		operation    string
		says         string
		cordoned     bool
	}{
		{"answer", "it is still selected: at once", []string{resultLabel, ""}, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate", true},
		{"answer and selection", "its turn comes again; until then it works", []string{resultLabel, "", selectedLabel, ""}, "Running", "HealthCheck Successful", "CandidateForUpdate", false},
		{"all", "it is as if nothing had been", []string{resultLabel, "", selectedLabel, "", candidateLabel, ""}, "Running", "HealthCheck Successful", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := updatingRig(t)
			g.label(resultLabel, "failed")
			g.pass()
			is(g, "InPlaceUpdateFailed", "InPlaceUpdate Failed", "UpdateFailed")
			g.clock.Step(time.Minute)
			g.label(tc.labels...)
			g.pass()
			is(g, tc.phase, tc.operation, tc.says)
			if g.node().Spec.Unschedulable != tc.cordoned {
				t.Errorf("%s: cordoned is %v", tc.reason, !tc.cordoned)
			}
		})
	}
}

// TestUpdateTakesTooLong: from InPlaceUpdating, not from the last pass; and an
// answer that comes late is heard.
func TestUpdateTakesTooLong(t *testing.T) {
	g := updatingRig(t, func(m *v1alpha1.Machine) {
		m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineInPlaceUpdateTimeout: &metav1.Duration{Duration: time.Hour}}
	})
	g.clock.Step(59 * time.Minute)
	if res := g.pass(); res.RequeueAfter != time.Minute {
		t.Errorf("asked again in %v, want 1m", res.RequeueAfter)
	}
	g.clock.Step(time.Minute)
	g.pass()
	is(g, "InPlaceUpdateFailed", "InPlaceUpdate Failed", "ReadyForUpdate")
	g.clock.Step(9 * time.Minute)
	g.label(resultLabel, "successful")
	g.clock.Step(g.pass().RequeueAfter)
	g.pass()
	is(g, "Running", "HealthCheck Successful", "UpdateSuccessful")
}

// TestUpdateForced: 2.9. The label on the machine ends all patience with pods.
func TestUpdateForced(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", false)
	g.target.refuse = func(w string) error {
		if w == "create Pod/eviction" {
			return apierrors.NewTooManyRequests("a budget has no room", 0)
		}
		return nil
	}
	deleted := func() bool { return slices.Contains(g.target.writes, "delete Pod") }
	g.label(candidateLabel, "true", selectedLabel, "true")
	for range 3 {
		g.clock.Step(g.pass().RequeueAfter)
	}
	is(g, "Running", "DrainNode Processing", "SelectedForUpdate")
	if deleted() {
		t.Fatal("a pod was deleted without being asked")
	}
	g.change(func(m *v1alpha1.Machine) { m.Labels["force-drain"] = "True" })
	g.pass() // there is no pause after the last eviction
	if !deleted() {
		t.Error("force-drain=True did not delete the pod")
	}
	g.pass()
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")
}

// TestUpdateAndDeletion: deletion wins at every moment of an update.
func TestUpdateAndDeletion(t *testing.T) {
	for name, get := range map[string]func(t *testing.T) *rig[*v1alpha1.Machine]{
		"draining": func(t *testing.T) *rig[*v1alpha1.Machine] {
			g := gardenerRig(t)
			g.settle()
			g.pod("db-0", true)
			g.label(candidateLabel, "true", selectedLabel, "true")
			g.pass()
			g.ends("db-0")
			return g
		},
		"updating": func(t *testing.T) *rig[*v1alpha1.Machine] { return updatingRig(t) },
		"failed": func(t *testing.T) *rig[*v1alpha1.Machine] {
			g := updatingRig(t)
			g.label(resultLabel, "failed")
			g.pass()
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := get(t)
			g.reports(corev1.ConditionUnknown)
			g.delete()
			g.pass()
			if !g.gone() || len(g.cloud.instances) > 0 {
				t.Errorf("gone: %v, instances left: %d", g.gone(), len(g.cloud.instances))
			}
		})
	}
}

// TestUpdateIsSaidFirst: the machine says that it is being updated before its
// node does. What is lost between the two writes is found by the next process.
func TestUpdateIsSaidFirst(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.label(candidateLabel, "true", selectedLabel, "true")
	g.target.refuse = func(w string) error {
		if w != "patch Node/status!" {
			return nil
		}
		switch g.says() {
		case "SelectedForUpdate": // DrainSuccessful is being written
			if phase := g.read().Status.CurrentStatus.Phase; phase != "InPlaceUpdating" {
				t.Errorf("the node is about to say DrainSuccessful, and the machine is %s", phase)
			}
			return errors.New("connection reset")
		}
		return nil
	}
	if res := g.pass(); res.RequeueAfter != 5*time.Second {
		t.Errorf("tried again in %v, want 5s", res.RequeueAfter)
	}
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "SelectedForUpdate")
	g.target.refuse = nil
	g.restart()
	g.written()
	g.pass()
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")
}

// TestUpdateSeesStaleNode: a cache that shows the node as it was writes nothing
// over what it is; heartbeats are no such change.
func TestUpdateSeesStaleNode(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.label(candidateLabel, "true")
	g.pass()
	g.label(selectedLabel, "true")
	old := newRecording(t, g.node(), g.read())
	g.pass()
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")

	behind := &lagging{recording: g.target, old: old}
	g.r.Nodes.Client = behind
	if _, err := g.try("m-1"); !apierrors.IsConflict(err) {
		t.Errorf("decided on what is over, and came to %v", err)
	}
	is(g, "InPlaceUpdating", "InPlaceUpdate Processing", "ReadyForUpdate")

	// A heartbeat that the cache lacks does not matter here.
	h := gardenerRig(t)
	h.settle()
	h.label(candidateLabel, "true")
	before := newRecording(t, h.node())
	h.clock.Step(time.Minute)
	h.reports(corev1.ConditionTrue)
	heartbeat := h.node().Status.Conditions[0].LastHeartbeatTime
	h.r.Nodes.Client = &lagging{recording: h.target, old: before}
	h.pass()
	if h.says() != "CandidateForUpdate" || !h.node().Status.Conditions[0].LastHeartbeatTime.Equal(&heartbeat) {
		t.Errorf("the node says %q, heartbeat %v", h.says(), h.node().Status.Conditions[0].LastHeartbeatTime)
	}
}

// lagging writes to the API server and reads what it was.
type lagging struct {
	*recording
	old *recording
}

func (l *lagging) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return l.old.Get(ctx, key, o, opts...)
}

// TestUpdateFailuresDoNotHoldEachOther: machines of a group whose updates failed become Failed one after
// the other, not never.
func TestUpdateFailuresDoNotHoldEachOther(t *testing.T) {
	g := updatingRig(t)
	other := gardenerMachine(held[*v1alpha1.Machine](gardenerFinalizer))
	other.Name, other.UID = "m-2", "uid-2"
	other.Status.CurrentStatus.Phase = "InPlaceUpdateFailed"
	if err := g.control.WithWatch.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	g.label(resultLabel, "failed")
	g.clock.Step(g.pass().RequeueAfter)
	g.pass()
	is(g, "Failed", "InPlaceUpdate Failed", "UpdateFailed")
}

// TestUpdateWokenByPods: a pod that leaves wakes the machine that waits for it,
// and no other.
func TestUpdateWokenByPods(t *testing.T) {
	g := gardenerRig(t)
	g.settle()
	g.pod("db-0", true)
	if g.r.WaitsForPods(g.read()) {
		t.Error("a machine that runs is woken by each pod")
	}
	g.label(candidateLabel, "true", selectedLabel, "true")
	g.pass()
	if !g.r.WaitsForPods(g.read()) {
		t.Error("a pod that leaves does not wake the machine that is waiting for it")
	}
	g.ends("db-0")
	g.pass()
	if g.r.WaitsForPods(g.read()) {
		t.Error("still woken by pods although the drain is done")
	}
}
