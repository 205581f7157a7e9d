package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/runtime/leading"
	"github.com/millwright-dev/millwright/provider"
)

// left is what another implementation left of a machine that it was deleting.
type left struct {
	name, reason string
	// What is still there.
	node, pod, instance bool
	stopping            bool
	// undrained says that the pod stays: its leaving was recorded.
	undrained bool
}

// leave puts it into the world. The instance carries no UID: that is ours alone.
func (l left) leave(t *testing.T, node, pod func(), c *cloud) {
	t.Helper()
	if l.node {
		node()
	}
	if l.pod {
		pod()
	}
	if l.instance {
		i := made("i-1", "", time.Hour)
		if l.stopping {
			i.State, i.RawState = provider.Stopping, "shutting-down"
		}
		c.instances = []provider.Instance{i}
	}
}

// finishes drives a deletion to its end, and demands that nothing is left and
// that no instance went before its pod.
func finishes[M client.Object](t *testing.T, g *rig[M], l left) {
	t.Helper()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time)
	l.leave(t, g.joins, func() { g.pod("web-0", false) }, g.cloud)
	if l.node && !l.instance {
		g.pass()
		if g.gone() {
			t.Errorf("%s: let go although the node reports Ready, and nobody saw the instance go", l.reason)
		}
		g.reports(corev1.ConditionUnknown)
	}
	g.cloud.deletions = 1
	g.cloud.before = func(call string) {
		var pods corev1.PodList
		if err := g.target.List(t.Context(), &pods); err != nil {
			t.Fatal(err)
		}
		if call == "Delete" && len(pods.Items) > 0 && !l.undrained && !l.stopping {
			t.Errorf("%s: the instance goes while %s is on it", l.reason, pods.Items[0].Name)
		}
	}
	for range 10 {
		res, err := g.try("m-1")
		if err != nil {
			t.Fatalf("%s: %v", l.reason, err)
		}
		if g.gone() {
			break
		}
		g.restart() // the new leader knows nothing
		g.clock.Step(max(res.RequeueAfter, time.Second))
	}
	var nodes corev1.NodeList
	if err := g.target.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	if !g.gone() || len(g.cloud.instances) > 0 || len(nodes.Items) > 0 || g.cloud.count("Create") > 0 {
		t.Errorf("%s: gone %v, instances %q, %d nodes, calls %q", l.reason, g.gone(), g.there(), len(nodes.Items), g.cloud.calls)
	}
}

// TestHalfDeletedGardener: a deletion that another implementation has begun, at
// each of its steps (2.7 of the Gardener notes). Its words steer nothing: what is
// there does.
func TestHalfDeletedGardener(t *testing.T) {
	for _, r := range []struct {
		left
		phase       v1alpha1.MachinePhase
		description string
		state       v1alpha1.MachineState
	}{
		{left{name: "not begun", reason: "only the timestamp is there", node: true, pod: true, instance: true}, v1alpha1.MachineRunning, "Machine m-1 successfully joined the cluster in 2m", "Successful"},
		{left{name: "marked by its set", reason: "the set wrote the phase first", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "Deleting machine from cloud provider", "Processing"},
		{left{name: "getting the status", reason: "the next step was to look for the VM", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "Set machine status to termination. Now, getting VM Status", "Processing"},
		{left{name: "getting the status failed", reason: "as before", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "machine codes error: code = [Unavailable] message = [x]. Now, getting VM Status", "Failed"},
		{left{name: "draining", reason: "the drain begins again", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "Initiate node drain", "Processing"},
		{left{name: "no VM", reason: "the VM was not found", node: true}, v1alpha1.MachineTerminating, "VM was not found at provider. Moving forward to node drain. Initiate node drain", "Processing"},
		{left{name: "deleting attachments", reason: "pods that came back are drained once more", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "Drain successful. Delete Volume Attachments", "Processing"},
		{left{name: "before the VM", reason: "pods that came back are drained once more", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "Drain successful. Initiate VM deletion", "Processing"},
		{left{name: "VM is going", reason: "it is on its way, and nobody can be saved", node: true, pod: true, instance: true, stopping: true}, v1alpha1.MachineTerminating, "Drain successful. Initiate VM deletion", "Processing"},
		{left{name: "VM is gone, node there", reason: "the node has to go", node: true}, v1alpha1.MachineTerminating, "VM deletion was successful. Initiate node object deletion", "Processing"},
		{left{name: "VM came back, node there", reason: "the words say that it is gone; it is not", node: true, instance: true}, v1alpha1.MachineTerminating, "VM deletion was successful. Initiate node object deletion", "Processing"},
		{left{name: "nothing but the finalizer", reason: "nothing is left to do"}, v1alpha1.MachineTerminating, "Deletion of node object successful. Initiate machine object finalizer removal", "Processing"},
		{left{name: "words of nobody", reason: "unknown words mean nothing", node: true, pod: true, instance: true}, v1alpha1.MachineTerminating, "???", "Failed"},
	} {
		t.Run(r.name, func(t *testing.T) {
			g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer), func(m *v1alpha1.Machine) {
				m.Labels["node"], m.Spec.ProviderID = "node-1", "memory:///i-1"
				m.DeletionTimestamp = ptr.To(metav1.NewTime(start))
				m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: r.phase, LastUpdateTime: metav1.NewTime(start)}
				m.Status.LastOperation = v1alpha1.LastOperation{Type: "Delete", State: r.state, Description: r.description}
			})
			finishes(t, g, r.left)
		})
	}
}

// TestHalfDeletedOpenShift: the same for the other API (2.2 step 4 of its notes),
// where a finished drain is a condition that counts.
func TestHalfDeletedOpenShift(t *testing.T) {
	done := machinev1.Condition{Type: machinev1.MachineDrained, Status: corev1.ConditionTrue, Message: "Drain finished successfully"}
	failing := machinev1.Condition{Type: machinev1.MachineDrained, Status: corev1.ConditionFalse, Reason: machinev1.MachineDrainError}
	for _, r := range []struct {
		left
		phase      string
		conditions []machinev1.Condition
	}{
		{left{name: "not begun", reason: "only the timestamp is there", node: true, pod: true, instance: true}, "Running", nil},
		{left{name: "marked", reason: "the drain is due", node: true, pod: true, instance: true}, "Deleting", nil},
		{left{name: "drain failed", reason: "it is tried again", node: true, pod: true, instance: true}, "Deleting", []machinev1.Condition{failing}},
		{left{name: "drained", reason: "what is drained stays drained", node: true, pod: true, instance: true, undrained: true}, "Deleting", []machinev1.Condition{done}},
		{left{name: "instance is going", reason: "it is on its way", node: true, instance: true, stopping: true}, "Deleting", []machinev1.Condition{done}},
		{left{name: "instance is gone, node there", reason: "the node has to go", node: true}, "Deleting", []machinev1.Condition{done}},
		{left{name: "nothing but the finalizer", reason: "nothing is left to do"}, "Deleting", []machinev1.Condition{done}},
		{left{name: "failed, and deleted", reason: "an instance that nobody looked after has to go", node: true, pod: true, instance: true}, "Failed", nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer), func(m *machinev1.Machine) {
				m.Spec.ProviderID, m.Status.Phase = ptr.To("memory:///i-1"), ptr.To(r.phase)
				m.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "node-1"}
				m.DeletionTimestamp = ptr.To(metav1.NewTime(start))
				m.Status.Conditions = r.conditions
			})
			finishes(t, g, r.left)
		})
	}
}

// TestFinalizersOfOthers: the finalizers of both originals are ours, by name, and
// go in the end; those of others stay, and hold the object.
func TestFinalizersOfOthers(t *testing.T) {
	foreign := "sync.machine.openshift.io/finalizer"
	deleted := ptr.To(metav1.NewTime(start))
	t.Run("openshift", func(t *testing.T) {
		finalizersOfOthers(t, openshiftRig(t, func(m *machinev1.Machine) {
			m.DeletionTimestamp, m.Finalizers = deleted, []string{"machine.machine.openshift.io", foreign}
		}), foreign)
	})
	t.Run("gardener", func(t *testing.T) {
		finalizersOfOthers(t, gardenerRig(t, func(m *v1alpha1.Machine) {
			m.DeletionTimestamp, m.Finalizers = deleted, []string{foreign, "machine.sapcloud.io/machine-controller-manager"}
		}), foreign)
	})
}

func finalizersOfOthers[M client.Object](t *testing.T, g *rig[M], foreign string) {
	g.cloud.instances = []provider.Instance{made("i-1", "", time.Hour)}
	g.pass()
	if d := cmp.Diff([]string{foreign}, g.read().GetFinalizers()); d != "" || len(g.cloud.instances) > 0 {
		t.Errorf("instances %q, finalizers (-want +got)\n%s", g.there(), d)
	}
	calls := len(g.cloud.calls)
	g.restart()
	g.pass()
	if len(g.cloud.calls) != calls {
		t.Errorf("a machine that is released is dealt with: %q", g.cloud.calls)
	}
}

// TestDeletionSaysWhyItWaits: C15. A deletion that cannot look, or may not, waits
// and says why on the object, whatever is missing.
func TestDeletionSaysWhyItWaits(t *testing.T) {
	denied := provider.Errorf(provider.Denied, "token expired")
	for name, blind := range map[string]func(*cloud){
		"session denied":  func(c *cloud) { c.openErr = func(provider.Class) error { return denied } },
		"look-up denied":  func(c *cloud) { c.findErr = denied },
		"removal denied":  func(c *cloud) { c.deleteErr = denied },
		"look-up failed":  func(c *cloud) { c.findErr = provider.Errorf(provider.Transient, "token expired") },
		"removal refused": func(c *cloud) { c.deleteErr = provider.Errorf(provider.Invalid, "token expired") },
	} {
		t.Run("openshift, "+name, func(t *testing.T) {
			g := openshiftRig(t)
			waits(t, g, blind, func() string {
				m := g.read()
				texts := []string{ptr.Deref(m.Status.Phase, "")}
				for _, c := range m.Status.Conditions {
					texts = append(texts, c.Message)
				}
				return strings.Join(append(texts, g.told()...), "\n")
			})
		})
		t.Run("gardener, "+name, func(t *testing.T) {
			g := gardenerRig(t)
			waits(t, g, blind, func() string {
				m := g.read()
				return string(m.Status.CurrentStatus.Phase) + " " + string(m.Status.LastOperation.State) + " " + m.Status.LastOperation.Description
			})
		})
	}
}

func waits[M client.Object](t *testing.T, g *rig[M], blind func(*cloud), says func() string) {
	g.settle()
	blind(g.cloud)
	g.delete()
	for range 5 {
		res := g.pass()
		if res.RequeueAfter <= 0 {
			t.Fatal("it does not come back")
		}
		g.clock.Step(res.RequeueAfter)
		g.restart()
	}
	if g.gone() || len(g.cloud.instances) != 1 {
		t.Fatalf("gone %v, instances %q", g.gone(), g.there())
	}
	if text := says(); !strings.Contains(text, "token expired") {
		t.Errorf("the object does not say why: %q", text)
	}
	g.cloud.openErr, g.cloud.findErr, g.cloud.deleteErr = nil, nil, nil
	g.pass()
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("once the cloud answers: gone %v, instances %q", g.gone(), g.there())
	}
}

// TestHandover is about an instance that a process asked for which does not lead
// any more: the machine is not let go before the instance can be there.
func TestHandover(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.handover = leading.Handover
	g.delete()
	g.restart()
	if res := g.pass(); res.RequeueAfter != leading.Handover {
		t.Errorf("the process looks again after %v", res.RequeueAfter)
	}
	g.cloud.instances = []provider.Instance{made("i-2", string(g.read().GetUID()), 0)}
	g.clock.Step(leading.Handover)
	for range 5 {
		if g.gone() {
			break
		}
		g.pass()
		g.clock.Step(time.Minute)
	}
	if !g.gone() || len(g.cloud.instances) > 0 {
		t.Errorf("gone: %t; instances: %q", g.gone(), g.there())
	}
}
