package mutants

import (
	"slices"
	"strings"
	"testing"
)

const kindsOfCode = `package expect

type Reason string

const (
	Held    Reason = "Held"
	Settled Reason = "Settled"
	limit          = 3
)

type state struct {
	reason Reason
	n      int
}

func judge(n int, all []int, s *state) Reason {
	if n > limit && len(all) == 0 {
		return Held
	}
	for _, x := range all {
		if x < 0 {
			continue
		}
		tell(x)
	}
	s.n = n
	s.reason = state{reason: Settled}.reason
	return s.reason
}

func tell(int) { panic("x" + "y") }
`

// TestGenerate: Generate creates each kind of mutant wherever it applies, and no others.
func TestGenerate(t *testing.T) {
	dir := moduleOf(t, map[string]string{"internal/controller/expectations/a.go": kindsOfCode, "internal/controller/expectations/a_test.go": kindsOfCode})
	all, err := Generate(dir, "expectations", 1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		if source, err := m.Source(dir); err != nil || string(source) == kindsOfCode {
			t.Errorf("%s changes nothing, or is invalid Go: %v", m.ID, err)
		}
		_, what, _ := strings.Cut(m.ID, " ")
		got = append(got, what+": "+m.From+" => "+strings.Join(strings.Fields(m.To), " "))
	}
	slices.Sort(got)
	want := []string{
		"&& to ||: && => ||",
		"< to <=: < => <=",
		"== to !=: == => !=",
		"> to >=: > => >=",
		"Held to Settled: Held => Settled",
		"Settled to Held: Settled => Held",
		"n not set: s.n = n => if false { s.n = n }",
		"negated: n > limit && len(all) == 0 => !(n > limit && len(all) == 0)",
		"negated: x < 0 => !(x < 0)",
		"never leaves: n > limit && len(all) == 0 => false && (n > limit && len(all) == 0)",
		"never leaves: x < 0 => false && (x < 0)",
		"no tell: tell(x) => if false { tell(x) }",
		"reason not set: s.reason = state{reason: Settled}.reason => if false { s.reason = state{reason: Settled}.reason }",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestGenerateIsRepeatable: the same seed chooses the same mutants, and another seed chooses others.
func TestGenerateIsRepeatable(t *testing.T) {
	ids := func(seed uint64) string {
		all, err := Generate(root(t), "replicas", seed, 10)
		if err != nil || len(all) != 10 {
			t.Fatalf("made %d mutants of 10: %v", len(all), err)
		}
		var out []string
		for _, m := range all {
			out = append(out, m.ID)
		}
		return strings.Join(out, "\n")
	}
	if once, again := ids(1), ids(1); once != again {
		t.Error("a seed chooses other mutants the second time")
	}
	if ids(1) == ids(2) {
		t.Error("two seeds choose the same mutants")
	}
}
