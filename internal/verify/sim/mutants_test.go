package sim

import (
	"slices"
	"testing"
)

// TestMutantsAreFound is the proof that the checks can fail: every defect is
// found within so many worlds.
func TestMutantsAreFound(t *testing.T) {
	const most = 1000
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			dialects := m.Dialects
			if len(dialects) == 0 {
				dialects = []string{OpenShift, Gardener}
			}
			for _, dialect := range dialects {
				seed, statement := hunt(dialect, &m, most)
				if statement == "" {
					t.Errorf("%s: not found in %d worlds", dialect, most)
					continue
				}
				t.Logf("%s: found by seed %d: %s", dialect, seed, statement)
			}
		})
	}
}

// hunt returns the first seed that finds the defect, and by which statement. A
// world that breaks the statement without the defect finds nothing.
func hunt(dialect string, m *Mutation, most uint64) (uint64, string) {
	for n := range most {
		seed := m.From[dialect] + n
		r := Run(seed, Options{Dialect: dialect, Mutation: m})
		if r.Violation == nil || !slices.Contains(m.Finds, r.Violation.Statement) {
			continue
		}
		sound := Run(seed, Options{Dialect: dialect, Mutation: &Mutation{Setting: m.Setting}})
		if sound.Violation == nil || sound.Violation.Statement != r.Violation.Statement {
			return seed, r.Violation.Statement
		}
	}
	return 0, ""
}
