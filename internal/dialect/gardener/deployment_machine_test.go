package gardener

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

func runningMachine(changes ...func(*v1alpha1.Machine)) *v1alpha1.Machine {
	m := &v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-1", UID: "m-uid", CreationTimestamp: metav1.NewTime(setNow.Add(-time.Hour)), Labels: map[string]string{"node": "node-1"}},
		Spec:       v1alpha1.MachineSpec{ProviderID: "kubemark:///a"},
		Status: v1alpha1.MachineStatus{
			CurrentStatus: v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(setNow)},
			Conditions:    []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range changes {
		c(m)
	}
	return m
}

func inPhase(p v1alpha1.MachinePhase) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) { m.Status.CurrentStatus.Phase = p }
}

func sampleNode(changes ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	for _, c := range changes {
		c(n)
	}
	return n
}

func nodeLabels(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			n.Labels = labelled(n.Labels, "node.machine.sapcloud.io/"+pairs[i], pairs[i+1])
		}
	}
}

func nodeCondition(t corev1.NodeConditionType, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason})
	}
}

func nodeAnnotations(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			setAnnotation(n, pairs[i], pairs[i+1])
		}
	}
}

const (
	scaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	disabledByUs      = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm"
)

// TestViewMachine: sections 1.3, 3.5 and 4.5.
func TestViewMachine(t *testing.T) {
	expiring := func(m *v1alpha1.Machine) {
		m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: setNow.Add(time.Hour)}
	}
	in := func(p v1alpha1.MachinePhase) *v1alpha1.Machine { return runningMachine(inPhase(p)) }
	idle := func(v *rollout.Machine) { v.Ready, v.Usable, v.ReadySince = false, false, time.Time{} }
	tests := map[string]struct {
		reason  string
		machine *v1alpha1.Machine
		expect  func(*rollout.Machine)
	}{
		"running":     {"ready since it is", runningMachine(), func(*rollout.Machine) {}},
		"available":   {"usable, not ready: no node is expected", in(v1alpha1.MachineAvailable), func(v *rollout.Machine) { v.Ready, v.ReadySince = false, time.Time{} }},
		"pending":     {"neither; the label node foretells its node", runningMachine(inPhase(v1alpha1.MachinePending), func(m *v1alpha1.Machine) { m.Status.Conditions = nil }), func(v *rollout.Machine) { idle(v); v.Joined = false }},
		"unknown":     {"had a node", in(v1alpha1.MachineUnknown), idle},
		"updating":    {"not available meanwhile", in(v1alpha1.MachineInPlaceUpdating), idle},
		"updated":     {"not available until it runs", in(v1alpha1.MachineInPlaceUpdateSuccessful), idle},
		"failed":      {"to be replaced", in(v1alpha1.MachineFailed), func(v *rollout.Machine) { idle(v); v.Failed = true }},
		"kept":        {"failed, and preserved for a time", runningMachine(inPhase(v1alpha1.MachineFailed), expiring), func(v *rollout.Machine) { idle(v); v.Failed = true; v.Preservation.Until = setNow.Add(time.Hour) }},
		"preserved":   {"runs: nothing is kept", runningMachine(expiring), func(v *rollout.Machine) { v.Preservation.Until = setNow.Add(time.Hour) }},
		"terminating": {"by its phase", in(v1alpha1.MachineTerminating), func(v *rollout.Machine) { idle(v); v.Leaving = true }},
		"deleted":     {"C37: by its timestamp, before the phase", runningMachine(func(m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: setNow} }), func(v *rollout.Machine) { v.Deleting = true }},
		"asked":       {"9: the autoscaler's priority", runningMachine(func(m *v1alpha1.Machine) { setAnnotation(m, "machinepriority.machine.sapcloud.io", "1") }), func(v *rollout.Machine) { v.Asked = true }},
		"not asked":   {"the usual priority", runningMachine(func(m *v1alpha1.Machine) { setAnnotation(m, "machinepriority.machine.sapcloud.io", "3") }), func(*rollout.Machine) {}},
		"marked": {"", runningMachine(func(m *v1alpha1.Machine) {
			setAnnotation(m, "machine.sapcloud.io/marked-for-deletion-time", "2026-01-02T03:04:05Z")
		}), func(v *rollout.Machine) { v.Marked = setNow }},
		"moved": {"4.5: shielded", runningMachine(func(m *v1alpha1.Machine) { m.Labels["node.machine.sapcloud.io/update-result"] = "successful" }), func(v *rollout.Machine) { v.Moved = true }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := rollout.Machine{
				Member: replicas.Member{UID: "m-uid", Name: "m-1", Created: setNow.Add(-time.Hour), Ready: true, Usable: true, ReadySince: setNow},
				Joined: true, Node: "node-1",
			}
			tc.expect(&want)
			got := deployedMachines{}.View(tc.machine, dialect.NoNode)
			if got.Kept() != (name == "kept") {
				t.Errorf("%s: kept %v", tc.reason, got.Kept())
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(replicas.Member{}, "Phase", "Linked", "Priority")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNodeMarks: section 1.7; what preservation put on a node is not ours to
// take away (4.5 f).
func TestNodeMarks(t *testing.T) {
	preserved := func(m *v1alpha1.Machine) { m.Status.CurrentStatus.PreserveExpiryTime = &metav1.Time{Time: setNow} }
	nothing := func(*v1alpha1.Machine) {}
	pair := nodeAnnotations(scaleDownDisabled, "true", disabledByUs, "true")
	taint := func(effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "deployment.machine.sapcloud.io/prefer-no-schedule", Value: "True", Effect: effect}}
		}
	}
	tests := map[string]struct {
		reason  string
		machine func(*v1alpha1.Machine)
		node    func(*corev1.Node)
		want    rollout.Marks
	}{
		"plain":             {"", nothing, nodeLabels(), rollout.Marks{}},
		"avoided":           {"the taint", nothing, taint(corev1.TaintEffectPreferNoSchedule), rollout.Marks{Avoid: true}},
		"other effect":      {"another taint", nothing, taint(corev1.TaintEffectNoSchedule), rollout.Marks{}},
		"stays":             {"by the pair", nothing, pair, rollout.Marks{Stay: true}},
		"stays for a user":  {"without our mark", nothing, nodeAnnotations(scaleDownDisabled, "true"), rollout.Marks{StayForeign: true}},
		"does not stay":     {"not exactly true", nothing, nodeAnnotations(scaleDownDisabled, "false", disabledByUs, "true"), rollout.Marks{}},
		"preserved machine": {"the pair is preservation's", preserved, pair, rollout.Marks{StayForeign: true}},
		"preserved node":    {"the pair is preservation's", nothing, func(n *corev1.Node) { pair(n); nodeCondition("Preserved", "Preserved by user.")(n) }, rollout.Marks{StayForeign: true}},
		"preserved no more": {"the pair is ours again", nothing, func(n *corev1.Node) { pair(n); nodeCondition("Preserved", "Preservation stopped.")(n) }, rollout.Marks{Stay: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := deployedMachines{}.View(runningMachine(tc.machine), dialect.OnNode(sampleNode(tc.node)))
			if diff := cmp.Diff(tc.want, v.Marks); diff != "" || !v.Seen {
				t.Errorf("%s: seen %v (-want +got):\n%s", tc.reason, v.Seen, diff)
			}
		})
	}
}

// TestUpdateOf: the steps of section 2.9 as 4.5 looks at them.
func TestUpdateOf(t *testing.T) {
	step := func(reason string) func(*corev1.Node) { return nodeCondition("InPlaceUpdate", reason) }
	candidate, selected := nodeLabels("candidate-for-update", "true"), nodeLabels("selected-for-update", "true")
	success, failure := nodeLabels("update-result", "successful"), nodeLabels("update-result", "failed")
	type node = []func(*corev1.Node)
	tests := map[string]struct {
		reason string
		phase  v1alpha1.MachinePhase
		node   node
		want   inplace.State
	}{
		"none":                    {"", v1alpha1.MachineRunning, nil, inplace.Idle},
		"long done":               {"the condition stays when the labels are gone", v1alpha1.MachineRunning, node{step("UpdateSuccessful")}, inplace.Idle},
		"long failed":             {"called off: the labels are gone", v1alpha1.MachineRunning, node{step("UpdateFailed")}, inplace.Idle},
		"candidate":               {"", v1alpha1.MachineRunning, node{candidate}, inplace.Candidate},
		"candidate, seen":         {"", v1alpha1.MachineRunning, node{candidate, step("CandidateForUpdate")}, inplace.Candidate},
		"candidate again":         {"after an update that went well", v1alpha1.MachineRunning, node{candidate, step("UpdateSuccessful")}, inplace.Candidate},
		"selected":                {"", v1alpha1.MachineRunning, node{candidate, selected, step("CandidateForUpdate")}, inplace.Selected},
		"draining":                {"", v1alpha1.MachineRunning, node{candidate, selected, step("SelectedForUpdate")}, inplace.Draining},
		"updating":                {"", v1alpha1.MachineInPlaceUpdating, node{candidate, selected, step("ReadyForUpdate")}, inplace.Updating},
		"updating, labels gone":   {"it goes on", v1alpha1.MachineInPlaceUpdating, node{step("ReadyForUpdate")}, inplace.Updating},
		"success, not taken note": {"the condition is awaited", v1alpha1.MachineInPlaceUpdating, node{candidate, selected, success, step("ReadyForUpdate")}, inplace.Answered},
		"success, still updating": {"the phase is awaited", v1alpha1.MachineInPlaceUpdating, node{candidate, selected, success, step("UpdateSuccessful")}, inplace.Answered},
		"done":                    {"label, condition and phase", v1alpha1.MachineInPlaceUpdateSuccessful, node{candidate, selected, success, step("UpdateSuccessful")}, inplace.Done},
		"done and running":        {"", v1alpha1.MachineRunning, node{candidate, selected, success, step("UpdateSuccessful")}, inplace.Done},
		"failed":                  {"C33: the agent's answer", v1alpha1.MachineInPlaceUpdating, node{candidate, selected, failure, step("ReadyForUpdate")}, inplace.Failed},
		"failed, seen":            {"", v1alpha1.MachineInPlaceUpdateFailed, node{candidate, selected, failure, step("UpdateFailed")}, inplace.Failed},
		"timed out":               {"the agent never answered", v1alpha1.MachineInPlaceUpdateFailed, node{candidate, selected, step("ReadyForUpdate")}, inplace.Failed},
		"retry, not seen":         {"the answer was taken away, the condition not yet", v1alpha1.MachineInPlaceUpdateFailed, node{candidate, step("UpdateFailed")}, inplace.Failed},
		"retry":                   {"it may be selected again", v1alpha1.MachineInPlaceUpdateFailed, node{candidate, step("CandidateForUpdate")}, inplace.Candidate},
		"late failure":            {"it is not the answer to what is asked now", v1alpha1.MachineRunning, node{candidate, failure, step("CandidateForUpdate")}, inplace.Unasked},
		"late success":            {"another template was asked for", v1alpha1.MachineRunning, node{candidate, success, step("UpdateSuccessful")}, inplace.Unasked},
		"late, nobody asks":       {"", v1alpha1.MachineRunning, node{success, step("UpdateSuccessful")}, inplace.Unasked},
		"called off too late":     {"the agent had begun, and has done it", v1alpha1.MachineInPlaceUpdateSuccessful, node{candidate, success, step("UpdateSuccessful")}, inplace.Done},
		"called off, failed":      {"the node is as bad as if it had not been", v1alpha1.MachineInPlaceUpdating, node{candidate, failure, step("ReadyForUpdate")}, inplace.Failed},
		"garbage":                 {"it is no answer, and nothing is asked before it is gone", v1alpha1.MachineRunning, node{candidate, nodeLabels("update-result", "maybe")}, inplace.Idle},
		"retry, draining":         {"the phase is left from the first attempt", v1alpha1.MachineInPlaceUpdateFailed, node{candidate, selected, step("SelectedForUpdate")}, inplace.Draining},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (deployedMachines{}).View(runningMachine(inPhase(tc.phase)), dialect.OnNode(sampleNode(tc.node...))).Update.State(); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestMarkNodeGolden pins sections 1.7 and 4.5: what is asked for shows, and
// asking twice changes nothing.
func TestMarkNodeGolden(t *testing.T) {
	updated := func(n *corev1.Node) {
		nodeLabels("candidate-for-update", "true", "selected-for-update", "true", "update-result", "successful")(n)
		nodeAnnotations("node.machine.sapcloud.io/update-failed-reason", "first attempt", "example.com/own", "1")(n)
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{
			{Key: "deployment.machine.sapcloud.io/prefer-no-schedule", Value: "True", Effect: "PreferNoSchedule"},
			{Key: "example.com/own", Effect: "NoSchedule"},
		}
	}
	all := rollout.NodeWant{Avoid: true, Stay: true, Update: inplace.WishSelected}
	marked := func(n *corev1.Node) { nodeLabels()(n); deployedMachines{}.MarkNode(n, all) }
	tests := map[string]struct {
		node func(*corev1.Node)
		want rollout.NodeWant
	}{
		"old-set":          {func(*corev1.Node) {}, rollout.NodeWant{Avoid: true, Stay: true}},
		"candidate":        {func(*corev1.Node) {}, rollout.NodeWant{Avoid: true, Stay: true, Update: inplace.WishCandidate}},
		"selected":         {nodeLabels("candidate-for-update", "true"), all},
		"cleaned":          {marked, rollout.NodeWant{}},
		"released":         {updated, rollout.NodeWant{Stay: true, Update: inplace.WishRelease}},
		"stays-for-a-user": {nodeAnnotations(scaleDownDisabled, "true"), rollout.NodeWant{Stay: true}},
		"left-to-a-user":   {nodeAnnotations(scaleDownDisabled, "true"), rollout.NodeWant{}},
		"left-preserved": {func(n *corev1.Node) {
			nodeAnnotations(scaleDownDisabled, "true", disabledByUs, "true")(n)
			nodeCondition("Preserved", "Preserved by user.")(n)
		}, rollout.NodeWant{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := sampleNode(tc.node)
			deployedMachines{}.MarkNode(n, tc.want)
			setGolden(t, "deployment/node-"+name, map[string]any{
				"labels": n.Labels, "annotations": n.Annotations, "taints": n.Spec.Taints, "unschedulable": n.Spec.Unschedulable,
			})
			again := n.DeepCopy()
			deployedMachines{}.MarkNode(again, tc.want)
			if diff := cmp.Diff(n, again); diff != "" {
				t.Errorf("marked twice:\n%s", diff)
			}
			is := deployedMachines{}.View(runningMachine(), dialect.OnNode(n))
			shown := rollout.NodeWant{Avoid: is.Marks.Avoid, Stay: is.Marks.Stay || is.Marks.StayForeign && tc.want.Stay, Update: is.Update.Request.Kept()}
			if tc.want.Update == inplace.WishRelease && is.Update.Request == inplace.RequestNone && is.Update.Answer == inplace.AnswerNone {
				shown.Update = inplace.WishRelease
			}
			if diff := cmp.Diff(tc.want, shown); diff != "" {
				t.Errorf("asked for and shown differ:\n%s", diff)
			}
		})
	}
}

// TestMoveGolden pins the handing over of section 4.5 e: one controller, at the
// same place, the labels of the new selector, and the spec as it was.
func TestMoveGolden(t *testing.T) {
	d := sampleDeployment()
	from := deployedSets{}.New(d, sampleWant(3))
	d.Spec.Template.Spec.Class.Name = "class-b"
	to := deployedSets{}.New(d, sampleWant(3))
	from.UID, to.UID = "old-uid", "new-uid"
	m := Sets{}.NewMachine(from, "workers-x7k2p").(*v1alpha1.Machine)
	m.UID = "m-uid"
	m.Labels["example.com/own"] = "1"
	m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other-uid"})
	before := m.DeepCopy()
	deployedMachines{}.Move(m, from, to)
	setGolden(t, "deployment/move", m)
	if diff := cmp.Diff(before, m, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "Labels", "OwnerReferences")); diff != "" {
		t.Errorf("more than owner and labels changed:\n%s", diff)
	}
	if !metav1.IsControlledBy(m, to) || metav1.IsControlledBy(m, from) || !(Sets{}).View(to).Selector.Matches(labels.Set(m.Labels)) || (Sets{}).View(from).Selector.Matches(labels.Set(m.Labels)) {
		t.Errorf("owners %v, labels %v", m.OwnerReferences, m.Labels)
	}
	again := m.DeepCopy()
	if (deployedMachines{}).Move(again, from, to); !cmp.Equal(m, again) {
		t.Errorf("moved twice:\n%s", cmp.Diff(m, again))
	}
	if v := (deployedMachines{}).View(m, dialect.NoNode); !v.Moved {
		t.Error("moved, and not shielded")
	}
	deployedMachines{}.Unprotect(m)
	if v := (deployedMachines{}).View(m, dialect.NoNode); v.Moved {
		t.Error("shielded still")
	}
}

// TestMoveFromAnAdoptedSet: one whose selector does not have the hash.
func TestMoveFromAnAdoptedSet(t *testing.T) {
	from, to := sampleSet(), deployedSets{}.New(sampleDeployment(), sampleWant(3))
	from.UID, to.UID = "old-uid", "new-uid"
	m := Sets{}.NewMachine(from, "workers-x7k2p").(*v1alpha1.Machine)
	deployedMachines{}.Move(m, from, to)
	if !(Sets{}).View(to).Selector.Matches(labels.Set(m.Labels)) || !metav1.IsControlledBy(m, to) || len(m.OwnerReferences) != 1 {
		t.Errorf("owners %v, labels %v", m.OwnerReferences, m.Labels)
	}
}

// TestVictimize: section 4.1 row 8; the set grants it.
func TestVictimize(t *testing.T) {
	m := runningMachine()
	deployedMachines{}.MarkForDeletion(m, setNow.In(time.FixedZone("east", 3600)))
	if m.Annotations["machinepriority.machine.sapcloud.io"] != "1" || m.Annotations["machine.sapcloud.io/marked-for-deletion-time"] != "2026-01-02T03:04:05Z" {
		t.Errorf("%v", m.Annotations)
	}
	if v := (deployedMachines{}).View(m, dialect.NoNode); !v.Asked || !v.Marked.Equal(setNow) {
		t.Errorf("what was written does not show: %+v", v)
	}
	if v := (Sets{}).Member(sampleSet(), m, nil); v.Priority != 1 || !v.Marked.Equal(setNow) {
		t.Errorf("the set does not see it: %+v", v)
	}
}
