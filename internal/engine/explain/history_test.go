package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

// TestMachineHistory: events that are stored in different places are listed in the order of time, once each.
func TestMachineHistory(t *testing.T) {
	at := func(seconds int) time.Time {
		return time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC)
	}
	requests := lifecycle.Requests{}.Next(at(2), "eu-1a").Close(provider.Exhausted, false).Next(at(3), "eu-1b")
	f := explain.MachineFacts{
		Subject: explain.Subject{API: provider.Gardener, Kind: "Machine", Namespace: "blue", Name: "m-1"}, Owner: "MachineSet mill",
		View: lifecycle.Machine{
			UID: "uid-1", Created: at(1), Deleted: at(40), Recorded: lifecycle.Recorded{Requests: requests},
			Deletion: lifecycle.Deletion{Started: []lifecycle.StartedStep{{Step: lifecycle.DeletionDrain, At: at(41)}, {Step: lifecycle.DeletionInstance, At: at(50)}}},
		},
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n-1", CreationTimestamp: metav1.NewTime(at(20))},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(at(30)), Message: "kubelet is posting ready status."},
				{Type: "DiskPressure", Status: "False", LastTransitionTime: metav1.NewTime(at(30))},
			}},
		},
		Said: []postmortem.Statement{{About: "condition InstanceRecord", Status: "True", Message: "{}", Since: at(2)}, {About: "condition Drained", Status: "False", Reason: "Draining", Message: "2 pods have to leave", Since: at(41)}},
		Events: []postmortem.Event{
			{Reason: "Created", Message: "the instance was created", At: at(4), By: "machine-controller"},
			{Reason: "DrainBlocked", Message: "budget web/b", At: at(49), Count: 3},
		},
	}
	var got []string
	for _, line := range strings.Split(explain.MachineHistory(&f).Text(), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"Machine blue/m-1 of machine.sapcloud.io, UID uid-1", "",
		"TIME AFTER BY WHAT",
		"2026-01-02T03:04:01Z 0s MachineSet/mill machine created",
		"2026-01-02T03:04:02Z 1s machine controller instance requested: request 1 for eu-1a, refused: Exhausted",
		"2026-01-02T03:04:03Z 2s machine controller instance requested: request 2 for eu-1b",
		"2026-01-02T03:04:04Z 3s machine-controller Created: the instance was created",
		"2026-01-02T03:04:20Z 19s node n-1 node joined",
		"2026-01-02T03:04:30Z 29s node n-1 Ready is True: kubelet is posting ready status",
		"2026-01-02T03:04:40Z 39s - deletion requested",
		"2026-01-02T03:04:41Z 40s machine controller drain began",
		"2026-01-02T03:04:41Z 40s machine status Drained is False (Draining): 2 pods have to leave",
		"2026-01-02T03:04:49Z 48s event DrainBlocked: budget web/b (3 times)",
		"2026-01-02T03:04:50Z 49s machine controller instance deletion began", "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestDepartedHistory: the history of a deleted machine is its evidence.
func TestDepartedHistory(t *testing.T) {
	e := explain.Evidence{Where: "configmap blue/evidence-m-1", Expires: now.Add(time.Hour), Record: postmortem.Record{
		API: provider.OpenShift, Namespace: "blue", Name: "m-1", UID: "uid-1", Owner: "MachineSet/mill", Cause: postmortem.Unwell, Taken: now,
		Summary: "node n-1: Ready is Unknown", Gaps: []string{"console: not supported"},
		Moments: []postmortem.Moment{{What: postmortem.MomentCreated, At: now.Add(-time.Hour)}, {What: "node joined", At: now.Add(-50 * time.Minute)}},
		Events:  []postmortem.Event{{Reason: "Unhealthy", Message: "it was silent", At: now.Add(-time.Minute)}},
	}}
	h := explain.DepartedHistory(e, nil)
	text := h.Text()
	var what []string
	for _, one := range h.Events {
		what = append(what, one.What)
	}
	if d := cmp.Diff([]string{postmortem.MomentCreated, "node joined", "Unhealthy", "evidence kept"}, what); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, part := range []string{"does not exist any more", "configmap blue/evidence-m-1", "MachineSet/mill", "not read: console: not supported", "Ready is Unknown"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
