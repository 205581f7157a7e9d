package machine_test

import (
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/turn"
	"github.com/millwright-dev/millwright/provider"
)

// TestWakesOfAStatus: a controller's own write does not wake the machine, or each write would cost another
// request to the infrastructure; a write by another client does, since that may be a late write of this
// process or of the former leader.
func TestWakesOfAStatus(t *testing.T) {
	g := openshiftRig(t)
	g.settle()
	before := g.read()
	older := before.DeepCopy()
	older.ResourceVersion = "1"
	if woken := g.r.Wakes(t.Context(), older, before); len(woken) > 0 {
		t.Errorf("our own write woke %v", woken)
	}
	late := before.DeepCopy()
	late.ResourceVersion = before.ResourceVersion + "0"
	late.Status.Phase = ptr.To("Provisioned")
	woken := g.r.Wakes(t.Context(), before, late)
	if len(woken) != 1 || woken[0].Name != before.Name || woken[0].After != time.Second {
		t.Errorf("a late write woke %v, want the machine after a second", woken)
	}
	asked := late.DeepCopy()
	asked.Generation++
	if woken := g.r.Wakes(t.Context(), late, asked); len(woken) != 1 || woken[0].After != 0 {
		t.Errorf("a wish woke %v", woken)
	}
	if woken := g.r.Wakes(t.Context(), before, nil); len(woken) != 1 {
		t.Errorf("a machine that is gone woke %v", woken)
	}
}

// TestNodeOfAnotherSpellingWakes: a kubelet may spell the provider ID in another
// way than the infrastructure, and have another name than the machine. A machine
// that its node does not wake would wait for it until everything is listed again.
func TestNodeOfAnotherSpellingWakes(t *testing.T) {
	g := openshiftRig(t, func(m *machinev1.Machine) { m.Spec.ProviderID = ptr.To("sim:///zone-a/i-7") })
	for spelled, want := range map[string]int{
		"sim:///zone-a/i-7": 1, "SIM:///zone-a/I-7": 1, "sim:////zone-a/i-7": 1, "sim:///i-7": 1, "sim:///zone-a/i-8": 0, "": 0,
	} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host-1"}, Spec: corev1.NodeSpec{ProviderID: spelled}}
		if woken := g.r.Wakes(t.Context(), nil, n); len(woken) != want {
			t.Errorf("a node with the provider ID %q woke %v, want %d", spelled, woken, want)
		}
	}
}

// TestOwnWritesWakeNobody: a pass reads its own writes before the cache shows them, so that no pass waits
// for the cache. A later check finds out whether the cache ever shows them.
func TestOwnWritesWakeNobody(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.pass()
	older := g.read()
	g.joins()
	g.pass()
	now := g.read()
	g.control.stale = older
	if res := g.pass(); res.RequeueAfter > readyourwrites.Patience {
		t.Errorf("a machine whose cache is behind is looked at again after %v", res.RequeueAfter)
	}
	if woken := g.r.Wakes(t.Context(), older, now); len(woken) > 0 {
		t.Errorf("our own write woke %v", woken)
	}
	g.control.stale = nil
	g.delete()
	if woken := g.r.Wakes(t.Context(), now, g.read()); len(woken) != 1 || woken[0].After != 0 {
		t.Errorf("a deletion woke %v", woken)
	}
}

// TestTurn: a machine that has no instance yet waits under another class than one whose instance runs, and one that is deleted goes first where
// others wait for capacity.
func TestTurn(t *testing.T) {
	waiting := func(edit func(*machinev1.Machine)) turn.Class {
		g := openshiftRig(t, edit)
		return g.r.Turn(t.Context(), client.ObjectKeyFromObject(g.read()))
	}
	if got := waiting(func(*machinev1.Machine) {}); got != turn.Asking {
		t.Errorf("a new machine waits under class %d", got)
	}
	if got := waiting(func(m *machinev1.Machine) {
		m.Spec.ProviderID, m.Status.Phase = ptr.To("sim:///zone-a/i-7"), ptr.To("Provisioned")
	}); got != turn.Joining {
		t.Errorf("one whose instance runs waits under class %d", got)
	}
	g := openshiftRig(t)
	if got := g.r.Turn(t.Context(), types.NamespacedName{Namespace: "ns", Name: "gone"}); got != turn.Settled {
		t.Errorf("one that does not exist waits under class %d", got)
	}
	g.cloud.createErr = provider.Errorf(provider.Exhausted, "no capacity")
	g.pass()
	leaving := openshiftMachine(held[*machinev1.Machine](openshiftFinalizer), func(m *machinev1.Machine) {
		m.Name, m.UID, m.Spec.ProviderID, m.Status.Phase = "leaving", "uid-2", ptr.To("sim:///zone-a/i-7"), ptr.To("Running")
	})
	if err := errors.Join(g.control.Create(t.Context(), leaving), g.control.Delete(t.Context(), leaving)); err != nil {
		t.Fatal(err)
	}
	leaves := func() turn.Class { return g.r.Turn(t.Context(), client.ObjectKeyFromObject(leaving)) }
	if got := leaves(); got != turn.Freeing {
		t.Errorf("one that is deleted while another waits for capacity waits under class %d", got)
	}
	g.cloud.createErr = nil
	g.clock.Step(time.Hour)
	g.pass()
	if got := leaves(); got != turn.Leaving {
		t.Errorf("one that is deleted while no other waits for capacity waits under class %d", got)
	}
}
