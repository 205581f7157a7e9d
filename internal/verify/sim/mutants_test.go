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

// rare says at which seed the hunt for a mutant begins, by dialect, where a world that shows the defect is far from the
// first: that saves the worlds before it, and nothing else.
var rare = map[string]map[string]uint64{
	"a node is whose it says that it is":                                       {OpenShift: 592},
	"a node belongs to whatever machine has its name":                          {Both: 21190},
	"an instance is known by its UID alone":                                    {OpenShift: 385},
	"an API server that is out has no machines, and all instances are orphans": {OpenShift: 150},
	"an instance is asked for whoever has its interface":                       {OpenShift: 18, Gardener: 18},
}

func TestRareMutantsExist(t *testing.T) {
	for name := range rare {
		if !slices.ContainsFunc(Mutants(), func(m Mutation) bool { return m.Name == name }) {
			t.Errorf("there is no mutant %q", name)
		}
	}
}

// hunt returns the first seed that finds the defect, and by which statement. A
// world that breaks the statement without the defect finds nothing.
func hunt(dialect string, m *Mutation, most uint64) (uint64, string) {
	for n := range most {
		seed := rare[m.Name][dialect] + n
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
