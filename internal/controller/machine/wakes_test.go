package machine_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"
)

// TestWakesOfAStatus: what we write ourselves wakes nobody, or each write would
// cost another question to the infrastructure; what somebody else wrote does, since
// that may be a write of ours, or of who led before, which came late.
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
