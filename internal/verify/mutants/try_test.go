package mutants

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

const ledgerTests = `package expect

import "testing"

func TestAdd(t *testing.T) {
	t.Run("twice", func(t *testing.T) {
		if Add(2) != 4 {
			t.Error("2 + 2 is not 4")
		}
	})
}

func TestSteps(t *testing.T) {
	if steps[1] != 2 {
		t.Error("the second step is not 2")
	}
}

func TestNegative(t *testing.T) {
	var l Ledger
	l.Add(-1)
	if l.n != 0 {
		t.Error("a negative number counts")
	}
}
`

// TestTry compiles a module with mutants in it and runs its tests.
func TestTry(t *testing.T) {
	t.Setenv("MILLWRIGHT_CACHE", t.TempDir())
	dir := moduleOf(t, map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n", "go.sum": "",
		"internal/controller/expectations/ledger.go": ledger, "internal/controller/expectations/ledger_test.go": ledgerTests,
	})
	cases := []struct {
		reason string
		m      Mutant
		want   string
	}{
		{"the test is named that fails, not its case", Mutant{Func: "Add", From: "n + n", To: "n * 3"}, "TestAdd"},
		{"a test that is named is tried first", Mutant{Func: "Ledger.Add", From: "n < 0", To: "false", Finds: "TestNegative"}, "TestNegative"},
		{"others are tried when it passes", Mutant{Func: "Add", From: "n + n", To: "n + 3", Finds: "TestNegative"}, "TestAdd"},
		{"a panic is a find", Mutant{Func: "Ledger.Add", From: "return", To: `panic("no")`}, "TestNegative"},
		{"a variable can be changed too", Mutant{Func: "steps", From: "2", To: "3"}, "TestSteps"},
		{"nobody tests that nothing is added to", Mutant{Func: "Ledger.Add", From: "n < 0", To: "n <= 0"}, ""},
		{"what does not compile is found by nobody, and hinders nobody", Mutant{Func: "Add", From: "n + n", To: "m"}, "undefined: m"},
		{"it may be several", Mutant{Func: "Add", From: "return n + n", To: "x := n; return n"}, "declared and not used: x"},
	}
	var list []Mutant
	for n := range cases {
		cases[n].m.ID, cases[n].m.File = fmt.Sprintf("expectations/try-%d", n), "ledger.go"
		list = append(list, cases[n].m)
	}
	for _, when := range []string{"first", "out of the cache"} {
		bench, err := NewBench(t.Context(), dir, list)
		if err != nil {
			t.Fatal(err)
		}
		all, errs := make([][]Verdict, len(cases)), make([]error, len(cases))
		var side sync.WaitGroup
		for n, c := range cases {
			side.Go(func() { all[n], errs[n] = bench.Try(t.Context(), c.m) })
		}
		side.Wait()
		for n, c := range cases {
			verdicts := all[n]
			if errs[n] != nil {
				t.Fatalf("%s, %s: %v", c.reason, when, errs[n])
			}
			r := NewResult(c.m, verdicts)
			got := r.Stillborn()
			if len(verdicts) == 1 && verdicts[0].Units != nil {
				got = verdicts[0].Units.Failed
			}
			if len(verdicts) != 1 || got != c.want {
				t.Errorf("%s, %s: got %q of %+v, want %q", c.reason, when, got, verdicts, c.want)
			}
		}
		if built := bench.workshop != nil; built != (when == "first") {
			t.Errorf("%s: built something: %t", when, built)
		}
		bench.Close()
	}
}

// TestSick: tests that fail without a mutant cannot find one, and are reported.
func TestSick(t *testing.T) {
	t.Setenv("MILLWRIGHT_CACHE", t.TempDir())
	dir := moduleOf(t, map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n", "go.sum": "",
		"internal/controller/expectations/ledger.go": ledger, "internal/controller/expectations/ledger_test.go": strings.Replace(ledgerTests, "!= 4", "!= 5", 1),
	})
	list := []Mutant{
		{ID: "expectations/one", File: "ledger.go", Func: "Add", From: "n + n", To: "n * 3"},
		{ID: "expectations/two", File: "ledger.go", Func: "steps", From: "2", To: "3"},
	}
	bench, err := NewBench(t.Context(), dir, list)
	if err != nil {
		t.Fatal(err)
	}
	defer bench.Close()
	var results []Result
	for n, want := range []string{"", "TestSteps"} {
		verdicts, err := bench.Try(t.Context(), list[n])
		results = append(results, NewResult(list[n], verdicts))
		if err != nil || len(verdicts) != 1 || verdicts[0].Units == nil || verdicts[0].Units.Failed != want {
			t.Errorf("mutant %s: got %+v, %v; want %q", list[n].ID, verdicts, err, want)
		}
	}
	if got := strings.Join(Shortcomings(results), "\n"); !strings.Contains(got, "TestAdd of internal/controller/expectations fails without any mutant") {
		t.Errorf("the shortcomings are %q", got)
	}
}
