package sim

import (
	"os"
	"slices"
	"strconv"
	"testing"
)

// seeds is the number of worlds of a test: SIM_SEEDS, or n.
func seeds(t *testing.T, n int) uint64 {
	t.Helper()
	if s := os.Getenv("SIM_SEEDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SIM_SEEDS: %v", err)
		}
	}
	return uint64(n)
}

func TestWorldsKeepTheirPromises(t *testing.T) {
	for _, dialect := range []string{OpenShift, Gardener, Both} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			o := Options{Dialect: dialect}
			for seed := range seeds(t, 100) {
				if r := Run(seed, o); r.Violation != nil {
					t.Fatal(Shrink(r, o, 400).Report())
				}
			}
		})
	}
}

// TestSettingsKeepTheirPromises: the product keeps its promises in the worlds in which the hunt for mutants takes place.
func TestSettingsKeepTheirPromises(t *testing.T) {
	for _, name := range Settings() {
		for _, dialect := range []string{OpenShift, Gardener} {
			t.Run(name+", "+dialect, func(t *testing.T) {
				t.Parallel()
				setting, _ := Setting(name)
				o := Options{Dialect: dialect, Mutation: setting}
				for seed := range seeds(t, 5) {
					if r := Run(seed, o); r.Violation != nil {
						t.Fatal(Shrink(r, o, 200).Report())
					}
				}
			})
		}
	}
}

// TestHundredsOfMachines: seeds draw such worlds rarely.
func TestHundredsOfMachines(t *testing.T) {
	crowded := &Mutation{Setting: func(c *profile) {
		c.many = 150
		c.crowd()
	}}
	for _, dialect := range []string{OpenShift, Gardener} {
		if r := Run(1, Options{Dialect: dialect, Mutation: crowded}); r.Violation != nil {
			t.Errorf("%s: %s", dialect, r.Violation)
		}
	}
}

func TestSeedDecidesEverything(t *testing.T) {
	for _, dialect := range []string{OpenShift, Gardener, Both} {
		for seed := range uint64(5) {
			o := Options{Dialect: dialect, Trace: true}
			if a, b := Run(seed, o), Run(seed, o); !slices.Equal(a.Trace, b.Trace) {
				for i := range a.Trace {
					if i >= len(b.Trace) || a.Trace[i] != b.Trace[i] {
						t.Fatalf("%s, seed %d: two runs differ at line %d:\n%s\n%s", dialect, seed, i, a.Trace[i], b.Trace[min(i, len(b.Trace)-1)])
					}
				}
			}
		}
	}
}

func TestShrinkingKeepsTheViolation(t *testing.T) {
	m := Mutants()[1]
	o := Options{Dialect: OpenShift, Mutation: &m}
	seed, statement := hunt(OpenShift, &m, 400)
	if statement == "" {
		t.Fatalf("%s: not found", m.Name)
	}
	whole := o
	whole.Trace = true
	long, short := Run(seed, whole), Shrink(Run(seed, o), o, 300)
	if short.Violation == nil || short.Violation.Statement != statement {
		t.Fatalf("the shrunk run breaks %v, want %q", short.Violation, statement)
	}
	if len(short.Trace) >= len(long.Trace) {
		t.Errorf("shrunk from %d lines to %d", len(long.Trace), len(short.Trace))
	}
}
