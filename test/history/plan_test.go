package main

import (
	"slices"
	"testing"
)

// TestPlanFollowsFromItsSeed: a seed is enough to repeat a run.
func TestPlanFollowsFromItsSeed(t *testing.T) {
	said := func(seed uint64) (out []string) {
		p := newPlanner(seed, true, optional)
		for range 30 {
			out = append(out, p.next().String())
		}
		return out
	}
	if !slices.Equal(said(1), said(1)) {
		t.Error("the same seed makes two plans")
	}
	if slices.Equal(said(1), said(2)) {
		t.Error("two seeds make the same plan")
	}
}

// TestEveryTroubleComesOnce: a sufficiently long run has every kind of fault that is switched on, and no other.
func TestEveryTroubleComesOnce(t *testing.T) {
	for _, on := range [][]string{nil, optional} {
		p := newPlanner(7, true, on)
		seen := map[string]bool{}
		alone := len(p.kinds)
		for range 60 {
			r := p.next()
			for _, c := range r.Comes {
				seen[c] = true
			}
			for _, s := range r.Steps {
				seen[s.What] = true
			}
		}
		for _, what := range slices.Concat(p.mixes, p.does, []string{comesExchange}) {
			if !seen[what] {
				t.Errorf("with %v on, %s does not come in 60 rounds, %d of them of one trouble", on, what, alone)
			}
		}
		for _, what := range optional {
			if seen[what] != slices.Contains(on, what) {
				t.Errorf("with %v on, %s comes: %t", on, what, seen[what])
			}
		}
	}
}
