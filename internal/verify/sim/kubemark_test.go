package sim

import (
	"testing"
	"time"
)

// TestKubemarkFindsMutants proves that the judge sees breaches in worlds with kubemark.
func TestKubemarkFindsMutants(t *testing.T) {
	found := 0
	for _, m := range cloudMutants() {
		if m.Name != "released as soon as removal is accepted" && m.Name != "the node is deleted before the instance" {
			continue
		}
		m.Setting = func(c *profile) { c.hollow, c.cloud.Stop = true, time.Minute }
		for _, dialect := range []string{OpenShift, Gardener} {
			if _, statement := hunt(dialect, &m, 100); statement == "" {
				t.Errorf("%s: %s: not found", dialect, m.Name)
			}
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d of 4 mutants were tried", found)
	}
}

// TestKubemarkKeepsPromises runs the controllers on the provider kubemark.
func TestKubemarkKeepsPromises(t *testing.T) {
	m := Mutation{Setting: func(c *profile) { c.hollow = true }}
	for _, dialect := range []string{OpenShift, Gardener} {
		for seed := range seeds(t, 10) {
			o := Options{Dialect: dialect, Mutation: &m}
			if r := Run(seed, o); r.Violation != nil {
				t.Errorf("%s, seed %d: %s", dialect, seed, r.Violation)
			} else if r.CloudCalls == 0 {
				t.Errorf("%s, seed %d: no controller called kubemark", dialect, seed)
			}
		}
	}
}
