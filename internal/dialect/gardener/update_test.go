package gardener_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	lens "github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/dialect/gardener"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

var machines = gardener.Machines{Defaults: gardener.StandardDefaults()}

// updatable is a node with the labels and the condition of an update in place.
func updatable(ready corev1.ConditionStatus, labels map[string]string, mark inplace.Mark) *corev1.Node {
	n := lens.Says(lens.Node(ready), machines.Marked(mark))
	n.Labels = labels
	return n
}

const (
	candidateLabel = "node.machine.sapcloud.io/candidate-for-update"
	selectedLabel  = "node.machine.sapcloud.io/selected-for-update"
	resultLabel    = "node.machine.sapcloud.io/update-result"
)

// TestUpdateIsRead: the labels of 1.7, and each reason of the condition.
func TestUpdateIsRead(t *testing.T) {
	since := metav1.NewTime(lens.Now).Time
	says := func(reason string) *corev1.Node {
		return lens.Says(lens.Node(corev1.ConditionTrue), corev1.NodeCondition{Type: "InPlaceUpdate", Status: "True", Reason: reason})
	}
	labelled := func(labels map[string]string) *corev1.Node {
		return updatable(corev1.ConditionTrue, labels, inplace.MarkNone)
	}
	failed := labelled(map[string]string{resultLabel: "failed"})
	failed.Annotations = map[string]string{"node.machine.sapcloud.io/update-failed-reason": "no space left"}
	for name, tc := range map[string]struct {
		reason string
		node   *corev1.Node
		want   inplace.Node
	}{
		"no label":           {"nobody asks", labelled(nil), inplace.Node{}},
		"candidate":          {"1.7", labelled(map[string]string{candidateLabel: "true"}), inplace.Node{Request: inplace.RequestCandidate}},
		"candidate, not":     {"the value counts", labelled(map[string]string{candidateLabel: "false"}), inplace.Node{}},
		"selected":           {"1.7", labelled(map[string]string{selectedLabel: "true"}), inplace.Node{Request: inplace.RequestStray}},
		"successful":         {"1.7", labelled(map[string]string{resultLabel: "successful"}), inplace.Node{Answer: inplace.AnswerDone}},
		"failed":             {"with the agent's reason", failed, inplace.Node{Answer: inplace.AnswerFailed, Detail: "no space left"}},
		"another result":     {"is no answer", labelled(map[string]string{resultLabel: "maybe"}), inplace.Node{Answer: inplace.AnswerUnknown}},
		"CandidateForUpdate": {"2.9", says("CandidateForUpdate"), inplace.Node{Mark: inplace.MarkCandidate, Since: since}},
		"SelectedForUpdate":  {"2.9", says("SelectedForUpdate"), inplace.Node{Mark: inplace.MarkSelected, Since: since}},
		"DrainSuccessful":    {"2.9", says("DrainSuccessful"), inplace.Node{Mark: inplace.MarkDrained, Since: since}},
		"ReadyForUpdate":     {"2.9", says("ReadyForUpdate"), inplace.Node{Mark: inplace.MarkReady, Since: since}},
		"UpdateSuccessful":   {"2.9", says("UpdateSuccessful"), inplace.Node{Mark: inplace.MarkUpdated, Since: since}},
		"UpdateFailed":       {"2.9", says("UpdateFailed"), inplace.Node{Mark: inplace.MarkFailed, Since: since}},
		"another reason":     {"is as good as none", says("Dreaming"), inplace.Node{Since: since}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, machines.Update(tc.node)); d != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, d)
			}
		})
	}
}

// TestUpdateIsMarked: what is written is read back, and its status is always
// True.
func TestUpdateIsMarked(t *testing.T) {
	for _, mark := range []inplace.Mark{
		inplace.MarkCandidate, inplace.MarkSelected, inplace.MarkDrained, inplace.MarkReady, inplace.MarkUpdated, inplace.MarkFailed,
	} {
		c := machines.Marked(mark)
		if c.Type != "InPlaceUpdate" || c.Status != corev1.ConditionTrue || c.Message == "" {
			t.Errorf("%s is written as %+v", mark, c)
		}
		if got := machines.Update(lens.Says(lens.Node(corev1.ConditionTrue), c)).Mark; got != mark {
			t.Errorf("%s is read back as %q", mark, got)
		}
	}
	if c := machines.Marked(inplace.MarkNone); c.Type != "InPlaceUpdate" || c.Reason != "" {
		t.Errorf("no mark is written as %+v", c)
	}
}

// TestUpdateTimeout: the spec's, else the flag's (1.3, 6.3).
func TestUpdateTimeout(t *testing.T) {
	m := freshMachine()
	if p := machines.Policy(m); p.Update.Timeout != 20*time.Minute || !p.Update.InPlace {
		t.Errorf("without a wish: %v, updates %v", p.Update.Timeout, p.Update.InPlace)
	}
	m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineInPlaceUpdateTimeout: &metav1.Duration{Duration: time.Hour}}
	if p := machines.Policy(m); p.Update.Timeout != time.Hour {
		t.Errorf("spec.inPlaceUpdateTimeout: 1h is taken for %v", p.Update.Timeout)
	}
}

// TestForceDrainIsExact: of the labels that are parsed, this one is not (1.7).
func TestForceDrainIsExact(t *testing.T) {
	for value, want := range map[string]bool{"True": true, "true": false, "1": false, "": false} {
		t.Run(value, func(t *testing.T) {
			m := freshMachine()
			m.Labels["force-drain"] = value
			if got := machines.View(m).ForceDrain; got != want {
				t.Errorf("force-drain=%q is taken for %v", value, got)
			}
		})
	}
}

// preservedMachine is a running machine that is to be kept until a given time.
func preservedMachine() *v1alpha1.Machine {
	m := freshMachine()
	m.Finalizers = []string{v1alpha1.FinalizerMachine}
	m.Labels["node"], m.Spec.ProviderID = "node-1", "kubemark:///north-a/i-1"
	m.Annotations = map[string]string{v1alpha1.AnnotationKeyMachinePriority: "3", v1alpha1.AnnotationKeyPreserve: "now"}
	until := metav1.NewTime(lens.Now.Add(96 * time.Hour))
	m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning, LastUpdateTime: metav1.NewTime(lens.Now), PreserveExpiryTime: &until}
	m.Status.LastOperation = v1alpha1.LastOperation{
		Type: v1alpha1.MachineOperationCreate, State: v1alpha1.MachineStateSuccessful, LastUpdateTime: metav1.NewTime(lens.Now),
		Description: "Machine m-1 successfully joined the cluster in 38s",
	}
	return m
}

// TestUpdateStory pins what an update in place leaves in the machine: sections
// 1.3, 2.4 and 2.9. In all of it the machine stays preserved (C34).
func TestUpdateStory(t *testing.T) {
	running := lens.Instance(provider.Running)
	world := func(ready corev1.ConditionStatus, mark inplace.Mark, labels map[string]string) lifecycle.World {
		n := updatable(ready, labels, mark)
		if labels[resultLabel] == "failed" {
			n.Annotations = map[string]string{"node.machine.sapcloud.io/update-failed-reason": "no space left"}
		}
		w := lens.World(running, n)
		w.Node.Update = machines.Update(n)
		return w
	}
	asked := map[string]string{candidateLabel: "true"}
	chosen := map[string]string{candidateLabel: "true", selectedLabel: "true"}
	done := map[string]string{candidateLabel: "true", selectedLabel: "true", resultLabel: "successful"}
	failed := map[string]string{candidateLabel: "true", selectedLabel: "true", resultLabel: "failed"}
	notes := func(marks ...inplace.Mark) effects {
		return effects{lifecycle.MarkUpdate: lens.Noted(machines.Marked, marks...)}
	}
	waits := lens.Drained(drain.Decision{Message: "1 pod has to leave: db/db-0 (disruption budget db has no room)", Next: time.Minute})
	fewer := lens.Drained(drain.Decision{Message: "1 pod has to leave: db/db-0 (terminating)", Next: time.Second})
	drained := notes(inplace.MarkDrained, inplace.MarkReady)
	drained[lifecycle.Drain] = lens.Drained(drain.Decision{Done: true})
	again := notes(inplace.MarkCandidate, inplace.MarkSelected)
	again[lifecycle.Drain] = waits

	lens.Story[*v1alpha1.Machine]{
		Dialect: machines, Fresh: preservedMachine(), Dir: "testdata/machine", Update: *update,
		Chapters: []chapter{
			{
				Name: "update-candidate", Reason: "2.9: the condition is copied; a candidate is a machine like any other", After: time.Hour,
				World: world(corev1.ConditionTrue, inplace.MarkNone, asked), Effects: notes(inplace.MarkCandidate),
			},
			{
				Name: "update-draining", Reason: "2.9: DrainNode says what blocks; Running meanwhile", From: "update-candidate", After: time.Minute,
				World:   world(corev1.ConditionTrue, inplace.MarkCandidate, chosen),
				Effects: effects{lifecycle.MarkUpdate: lens.Noted(machines.Marked, inplace.MarkSelected), lifecycle.Drain: waits},
				Events:  []string{"Normal Draining: Drain is not done yet: 1 pod has to leave: db/db-0 (disruption budget db has no room). Will retry in next sync."},
			},
			{
				Name: "update-draining-on", Reason: "getting further is noted, and not told again", From: "update-draining", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkSelected, chosen), Effects: effects{lifecycle.Drain: fewer},
			},
			{
				Name: "update-called-off", Reason: "the drain is over although it came to nothing", From: "update-draining-on", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkSelected, nil), Effects: notes(inplace.MarkNone),
				Events: []string{"Warning FailedUpdate: The in-place update of machine m-1 was cancelled"},
			},
			{
				Name: "updating", Reason: "1.3: drained; InPlaceUpdating, InPlaceUpdate Processing, with a timeout", From: "update-draining-on", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkSelected, chosen), Effects: drained,
				Events: []string{"Normal Updating: Machine m-1 is undergoing an in-place update"},
			},
			{
				Name: "updating-restart", Reason: "2.4 step 2: a node that is being restarted is not Unknown", From: "updating", After: 10 * time.Minute,
				World: world(corev1.ConditionUnknown, inplace.MarkReady, chosen),
			},
			{
				Name: "updated", Reason: "1.3: InPlaceUpdateSuccessful, InPlaceUpdate Successful", From: "updating-restart", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkReady, done), Effects: notes(inplace.MarkUpdated),
				Events: []string{"Normal Updated: Machine m-1 was updated in place"},
			},
			{
				Name: "updated-running", Reason: "1.3: InPlaceUpdateSuccessful to Running by the normal health path", From: "updated", After: time.Second,
				World: world(corev1.ConditionTrue, inplace.MarkUpdated, done), Events: []string{"Normal Recovered: Machine m-1 successfully re-joined the cluster"},
			},
			{
				Name: "update-failed", Reason: "1.3: InPlaceUpdateFailed, InPlaceUpdate Failed, with the agent's reason", From: "updating", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkReady, failed), Effects: notes(inplace.MarkFailed),
				Events: []string{"Warning FailedUpdate: Machine m-1 could not be updated in place: no space left"},
			},
			{
				Name: "update-retried", Reason: "C33: the answer was taken away; drained once more", From: "update-failed", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkFailed, chosen), Effects: again,
				Events: []string{"Normal Draining: Drain is not done yet: 1 pod has to leave: db/db-0 (disruption budget db has no room). Will retry in next sync."},
			},
			{
				Name: "update-given-up", Reason: "1.3: InPlaceUpdateFailed to Failed after the health timeout, previous type", From: "update-failed", After: 10 * time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkFailed, failed),
				Events: []string{
					"Warning FailedUpdate: Machine m-1 health checks failing since last 10 minutes. Updating machine phase to Failed. Node Conditions: [Ready=True InPlaceUpdate=True]. Its update in place failed: no space left",
				},
			},
			{
				Name: "update-timeout", Reason: "2.4 step 4: InPlaceUpdateFailed; what the node says stays, so that a late answer counts", From: "updating-restart", After: 10 * time.Minute,
				World:  world(corev1.ConditionUnknown, inplace.MarkReady, chosen),
				Events: []string{"Warning FailedUpdate: Machine m-1 was not updated in place in 20 minutes"},
			},
			{
				Name: "update-late", Reason: "2.4 step 3: a late success counts", From: "update-timeout", After: time.Minute,
				World: world(corev1.ConditionTrue, inplace.MarkReady, done), Effects: notes(inplace.MarkUpdated),
				Events: []string{"Normal Updated: Machine m-1 was updated in place"},
			},
			{
				Name: "update-deleted", Reason: "2.7: deletion wins, whatever is under way; what is on its way out is preserved no more", From: "updating-restart", After: time.Minute,
				Edit:    deletedAt(time.Hour + 14*time.Minute),
				World:   world(corev1.ConditionUnknown, inplace.MarkReady, chosen),
				Effects: effects{lifecycle.Drain: drained[lifecycle.Drain], lifecycle.Terminate: lens.Removing},
				Events:  []string{"Normal Deleting: Drain successful. Initiate VM deletion (begun: drain 2026-01-02T04:18:05Z, instance deletion 2026-01-02T04:18:05Z)"},
			},
		},
	}.Check(t)
}
