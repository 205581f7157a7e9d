package live

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// runningMachine makes one whose node has joined.
func (s *stage) runningMachine() (*v1alpha1.Machine, *corev1.Node) {
	s.Helper()
	class := &v1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pool"}, ProviderSpec: spec}
	class.SecretRef = &corev1.SecretReference{Namespace: s.ns, Name: s.secret().Name}
	s.must("create class", s.api.Create(s.Context(), class))
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "m-" + s.ns}}
	m.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "pool"}
	s.must("create machine", s.api.Create(s.Context(), m))
	s.until("an instance", func() string {
		if why := s.read(m); why != "" || m.Labels["node"] == "" {
			return why + " it has none"
		}
		return ""
	})
	n := s.join(m.Labels["node"], m.Spec.ProviderID)
	s.phase(m, v1alpha1.MachineRunning)
	return m, n
}

// phase waits for one, and returns how long that took.
func (s *stage) phase(m *v1alpha1.Machine, want v1alpha1.MachinePhase) time.Duration {
	s.Helper()
	begun := time.Now()
	s.until(string(want), func() string {
		if why := s.read(m); why != "" || m.Status.CurrentStatus.Phase != want {
			return why + " it is " + string(m.Status.CurrentStatus.Phase) + ": " + m.Status.LastOperation.Description
		}
		return ""
	})
	return time.Since(begun)
}

// says waits for the reason of the node's condition.
func (s *stage) says(n *corev1.Node, want string) {
	s.Helper()
	s.until(want, func() string {
		if why := s.read(n); why != "" {
			return why
		}
		last := "nothing"
		for _, c := range n.Status.Conditions {
			if c.Type == v1alpha1.NodeInPlaceUpdate {
				last = c.Reason
			}
		}
		if last != want {
			return "it says " + last
		}
		return ""
	})
}

// label changes the node's labels, nil takes one away.
func (s *stage) label(n *corev1.Node, raw string) {
	s.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":`+raw+`}}`))
	s.must("label the node", s.api.Patch(s.Context(), n, patch))
}

func (s *stage) ready(n *corev1.Node, status string) {
	s.Helper()
	patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"` + status + `","reason":"Kubelet"}]}}`)
	s.must("report", s.api.Status().Patch(s.Context(), n, client.RawPatch("application/strategic-merge-patch+json", patch)))
}

// TestUpdateInPlace: each step follows its event, none a clock. The only pod
// leaves late, the node restarts, the first try fails.
func TestUpdateInPlace(t *testing.T) {
	s := open(t)
	m, n := s.runningMachine()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "default"}}
	s.must("create service account", s.api.Create(t.Context(), account))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "db-0", Finalizers: []string{"example.com/flush"}},
		Spec: corev1.PodSpec{
			NodeName: n.Name, TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
		},
	}
	s.must("create pod", s.api.Create(t.Context(), pod))

	s.label(n, `{"node.machine.sapcloud.io/candidate-for-update":"true"}`)
	s.says(n, "CandidateForUpdate")
	s.label(n, `{"node.machine.sapcloud.io/selected-for-update":"true"}`)
	s.says(n, "SelectedForUpdate")
	s.until("draining", func() string {
		if why := s.read(m); why != "" || m.Status.LastOperation.Type != v1alpha1.MachineOperationDrainNode {
			return why + " it is about " + m.Status.LastOperation.Description
		}
		return ""
	})
	flushed := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	s.must("let the pod go", s.api.Patch(t.Context(), pod, flushed))
	took := s.phase(m, v1alpha1.MachineInPlaceUpdating)
	s.says(n, "ReadyForUpdate")
	if !n.Spec.Unschedulable {
		t.Error("the node takes pods while it is updated")
	}
	t.Logf("%v from the last pod to InPlaceUpdating", took)

	s.label(n, `{"node.machine.sapcloud.io/update-result":"failed"}`)
	s.phase(m, v1alpha1.MachineInPlaceUpdateFailed)
	s.says(n, "UpdateFailed")
	s.label(n, `{"node.machine.sapcloud.io/update-result":null}`)
	s.phase(m, v1alpha1.MachineInPlaceUpdating)
	s.says(n, "ReadyForUpdate")

	s.ready(n, "Unknown")
	s.until("the machine shows that the node restarts", func() string {
		if why := s.read(m); why != "" {
			return why
		}
		silent := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "Kubelet"}
		if !slices.Contains(m.Status.Conditions, silent) {
			return "it does not"
		}
		return ""
	})
	s.phase(m, v1alpha1.MachineInPlaceUpdating)
	s.ready(n, "True")
	s.label(n, `{"node.machine.sapcloud.io/update-result":"successful"}`)
	t.Logf("%v from the agent's answer to Running", s.phase(m, v1alpha1.MachineRunning))
	s.says(n, "UpdateSuccessful")

	s.must("delete machine", s.api.Delete(t.Context(), m))
	s.until("gone", func() string { return s.gone(m) })
	s.empty(provider.Gardener, s.ns)
}
