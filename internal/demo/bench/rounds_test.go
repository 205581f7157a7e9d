package bench

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// created is a round that creates ten machines.
func created(seconds float64) Measured {
	m := Measured{
		Subject: Subject{API: "machine.sapcloud.io", Phase: create, Machines: 10}, Program: "devel",
		Seconds: seconds, CeilingSeconds: 1, JoiningCeilingSeconds: 10,
	}
	m.WritesPerMachine = map[string]float64{"patch machines": seconds}
	m.compare()
	return m
}

// lines are the lines of the printed report that contain a text, with single spaces.
func lines(t *testing.T, r *Report, text string) (out []string) {
	t.Helper()
	var printed strings.Builder
	if err := r.Print(&printed); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(printed.String()) {
		if strings.Contains(line, text) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return out
}

// TestRounds: the report has the median of several rounds, the least, the most, and the median of an earlier report.
func TestRounds(t *testing.T) {
	r := &Report{Runs: []Measured{created(12), created(30), created(10)}}
	for _, c := range []struct {
		reason, text string
		before       []Measured
		want         []string
	}{
		{reason: "one slow round does not count", text: "  ratio to the raw ceiling with", want: []string{"ratio to the raw ceiling with nodes joining 1.20 <= 1.05 EXCEEDED 1.00 to 3.00"}},
		{reason: "the header says how many", text: "median", want: []string{"machine.sapcloud.io: create 10 machines median of 3 budget least to most"}},
		{
			reason: "of two rounds before it is the mean", text: "  ratio to the raw ceiling with", before: []Measured{created(10), created(20)},
			want: []string{"ratio to the raw ceiling with nodes joining 1.20 <= 1.05 EXCEEDED 1.00 to 3.00 1.50"},
		},
		{reason: "writes are the mean", text: "writes per machine: ", want: []string{"writes per machine: patch machines 17.333"}},
		{reason: "it says what was before", text: "before: ", before: []Measured{created(10)}, want: []string{"before: devel"}},
		{reason: "other numbers of machines are no comparison", text: "before", before: []Measured{{Subject: Subject{API: "machine.sapcloud.io", Phase: create, Machines: 11}}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r.Before = &Report{Runs: c.before}
			if diff := cmp.Diff(c.want, lines(t, r, c.text)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestStore: a file keeps figures, also those that were not measured again.
func TestStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "figures.json")
	if none, err := Load(file); none != nil || err != nil {
		t.Fatalf("without a file: %v, %v", none, err)
	}
	booting := created(40)
	booting.BootTime = "1m0s"
	if err := (&Report{Runs: []Measured{created(12), booting}}).Store(file); err != nil {
		t.Fatal(err)
	}
	before, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Report{Runs: []Measured{created(11), created(13)}, Before: before}).Store(file); err != nil {
		t.Fatal(err)
	}
	after, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Measured{created(11), created(13), booting}, after.Runs); diff != "" {
		t.Errorf("stored, -want +got:\n%s", diff)
	}
}
