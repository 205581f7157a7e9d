package orphan_test

import (
	"fmt"
	"testing"
	"time"
)

// The cap per hour.
func TestCap(t *testing.T) {
	w := newWorld(t)
	w.policy.Limit.Percent, w.policy.PerHour = 100, 2
	w.restart()
	for n := range 5 {
		w.plant(fmt.Sprintf("uid-lost%d", n), fmt.Sprintf("lost-%d", n))
	}
	before := len(w.ids())
	w.passes(65 * time.Minute)
	if gone := before - len(w.ids()); gone != 2 {
		t.Errorf("%d within the hour, want 2", gone)
	}
	w.passes(2 * time.Hour)
	if len(w.ids()) != 20 {
		t.Errorf("%d instances, want the 20 of machines", len(w.ids()))
	}
	w.whole()
}

// The cap belongs to a place, for all clients: other credentials do not begin another hour.
func TestCapWithOtherCredentials(t *testing.T) {
	w := newWorld(t)
	w.policy.Limit.Percent, w.policy.PerHour = 100, 2
	w.restart()
	for n := range 3 {
		w.plant(fmt.Sprintf("uid-lost%d", n), fmt.Sprintf("lost-%d", n))
	}
	w.passes(35 * time.Minute)
	s := secretOf(w)
	s.Data["rotated"] = []byte("today")
	if err := w.api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.passes(30 * time.Minute)
	if n := len(w.ids()); n != 21 {
		t.Errorf("%d instances within the hour, want the 20 of machines and one", n)
	}
	w.passes(2 * time.Hour)
	if n := len(w.ids()); n != 20 {
		t.Errorf("%d instances, want the 20 of machines", n)
	}
	w.whole()
}
