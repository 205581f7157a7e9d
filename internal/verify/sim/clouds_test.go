package sim

import (
	"math/rand/v2"
	"testing"
)

// TestHabitsAreNeeded: without the cloud's habit, no world finds the defect.
func TestHabitsAreNeeded(t *testing.T) {
	const worlds = 4
	for _, h := range habituals() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			m := h.Mutation
			m.Setting = h.setting(false)
			for _, dialect := range []string{OpenShift, Gardener} {
				if seed, statement := hunt(dialect, &m, worlds); statement != "" {
					t.Errorf("%s: found by seed %d without the habit: %s", dialect, seed, statement)
				}
			}
		})
	}
}

// TestSeedsHaveEachCloud: the fixed seeds of [TestWorldsKeepTheirPromises] have worlds with each cloud.
func TestSeedsHaveEachCloud(t *testing.T) {
	got := map[string]int{}
	for seed := range uint64(100) {
		got[newProfile(seed, rand.New(rand.NewPCG(seed, 0)), "").cloud.Like]++
	}
	for _, name := range Clouds() {
		if got[name] < 2 {
			t.Errorf("%d of 100 seeds have a cloud like %s", got[name], name)
		}
	}
	if got[""] < 50 {
		t.Errorf("%d of 100 seeds have a cloud like none", got[""])
	}
}
