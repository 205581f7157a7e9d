package bench

import (
	"os"
	"strings"
	"testing"
)

// TestPage: a page has a table for each API with the measured figures and the medians of rounds, and plots if there are enough sizes.
func TestPage(t *testing.T) {
	r := &Report{}
	for i, n := range []int{100, 1000, 500} {
		for _, seconds := range []float64{1, 3, 2} {
			r.Runs = append(r.Runs, Measured{
				Subject: Subject{API: "machine.a", Phase: create, Machines: n}, Seconds: seconds * float64(i+1), CPUSeconds: 1, JoiningCeilingSeconds: 1,
			})
		}
	}
	r.Runs = append(r.Runs, Measured{Subject: Subject{API: "machine.b", Phase: create, Machines: 7, BootTime: "1m0s", Distance: "10ms"}, Seconds: 4})
	out := r.Page()
	for _, want := range []string{
		"## machine.a\n\n| machines | 100 | 500 | 1000 |", "| created, s | 2 | 6 | 4 |", "| deleted, s | | | |",
		"x-axis \"machines\" [100, 500, 1000]", "line [20, 12, 4]",
		"## machine.b, instances that boot for 1m0s, 10ms from the API server\n\n| machines | 7 |",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the page lacks %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "```mermaid"); n != len(plots) {
		t.Errorf("%d plots, want those of machine.a only", n)
	}
}

// TestPageIsCurrent: the page in the documentation fits the figures beside it.
func TestPageIsCurrent(t *testing.T) {
	const folder = "../../../docs/"
	r, err := Load(folder + "figures.json")
	if err != nil || r == nil {
		t.Fatalf("%v, %v", r, err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(folder+"figures.md", []byte(r.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(folder + "figures.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != r.Page() {
		t.Error("docs/figures.md is not what its figures say: UPDATE_GOLDEN=1 go test ./internal/demo/bench")
	}
}
