package mutants

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Result is what found a mutant.
type Result struct {
	ID        string          `json:"id"`
	Place     string          `json:"place"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Note      string          `json:"note"`
	Generated bool            `json:"generated,omitempty"`
	Statement int             `json:"statement,omitempty"`
	Hunted    bool            `json:"hunted,omitempty"`
	Survives  string          `json:"survives,omitempty"`
	Verdicts  []Verdict       `json:"verdicts"`
	Looks     map[string]Look `json:"looks,omitempty"`
}

// NewResult returns the result of a mutant.
func NewResult(m Mutant, verdicts []Verdict) Result {
	return Result{
		ID: m.ID, Place: m.path() + " " + m.Func, From: m.From, To: m.To, Note: m.Note, Generated: m.Generated(),
		Statement: m.Statement, Hunted: m.Hunted(), Survives: m.Survives, Verdicts: verdicts,
	}
}

// Stillborn is the reason for which the mutant does not compile; empty if it compiles.
func (r Result) Stillborn() string {
	for _, v := range r.Verdicts {
		if v.Stillborn != "" {
			return v.Stillborn
		}
	}
	return ""
}

// Tested reports whether a unit test or a property found it.
func (r Result) Tested() bool {
	return slices.ContainsFunc(r.Verdicts, Verdict.found)
}

// Seen reports whether the simulator found it.
func (r Result) Seen() bool {
	for _, l := range r.Looks {
		if l.Statement != "" {
			return true
		}
	}
	return false
}

// Header is the heading of the lines of results.
func Header() string {
	return row("MUTANT", "ST", "UNIT TESTS", "PROPERTIES", "WORLDS")
}

func row(id, statement, units, properties, worlds string) string {
	line := fmt.Sprintf("%-41s %-2s %-27s %-17s %-8s", short(id, 41), statement, short(units, 27), short(properties, 17), short(worlds, 8))
	return strings.TrimRight(line, " ")
}

// short shortens a text in its middle.
func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	end := most / 3
	return string(runes[:most-end-1]) + "…" + string(runes[len(runes)-end:])
}

// Line is the result in 100 columns: what found the mutant first, and after how many seconds or worlds. A dash stands for
// tests that were not run.
func (r Result) Line() string {
	statement := ""
	if r.Statement > 0 {
		statement = fmt.Sprint(r.Statement)
	}
	if r.Stillborn() != "" {
		return row(r.ID, statement, "does not compile", "", "")
	}
	var units, properties []*Run
	for _, v := range r.Verdicts {
		units, properties = append(units, v.Units), append(properties, v.Properties)
	}
	return row(r.ID, statement, by(units, 20), by(properties, 10), r.worlds())
}

// by is the name of the test that found it, in at most the given columns, and its seconds.
func by(runs []*Run, most int) string {
	asked := false
	for _, r := range runs {
		if r != nil && r.Failed != "" {
			return fmt.Sprintf("%s %.1fs", short(strings.TrimPrefix(r.Failed, "Test"), most), r.Seconds)
		}
		asked = asked || r != nil
	}
	if asked {
		return "none"
	}
	return "-"
}

func (r Result) worlds() string {
	if len(r.Looks) == 0 {
		return "-"
	}
	for _, l := range r.Looks {
		if l.Statement != "" {
			return fmt.Sprint(l.Worlds)
		}
	}
	return "none"
}

// Totals are counts of results.
type Totals struct {
	Mutants int `json:"mutants"`
	// Units and Properties count mutants that unit tests and properties found, Tested those that either found.
	Units      int `json:"units"`
	Properties int `json:"properties"`
	Tested     int `json:"tested"`
	// Simulated counts mutants that the simulator searched for, Seen those that it found, OnlySeen those that only it found.
	Simulated int `json:"simulated"`
	Seen      int `json:"seen"`
	OnlySeen  int `json:"onlySeen"`
	// Explained counts mutants that survive the tests and give a reason, Unexplained those that give none.
	Explained   int `json:"explained"`
	Unexplained int `json:"unexplained"`
	Stillborn   int `json:"stillborn"`
}

// Count counts the results.
func Count(results []Result) Totals {
	var t Totals
	for _, r := range results {
		if r.Stillborn() != "" {
			t.Stillborn++
			continue
		}
		t.Mutants++
		t.Units += one(slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Units != nil && v.Units.Failed != "" }))
		t.Properties += one(slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v.Properties != nil && v.Properties.Failed != "" }))
		t.Tested += one(r.Tested())
		t.Simulated += one(len(r.Looks) > 0)
		t.Seen += one(r.Seen())
		t.OnlySeen += one(r.Seen() && !r.Tested())
		t.Explained += one(!r.Tested() && r.Survives != "")
		t.Unexplained += one(!r.Tested() && r.Survives == "")
	}
	return t
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// percent is the percentage of the mutants that tests can find.
func (t Totals) percent(n int) int {
	if all := t.Mutants - t.Explained; all > 0 {
		return 100 * n / all
	}
	return 100
}

func (t Totals) String() string {
	text := fmt.Sprintf("%d mutants: %d (%d %%) found by unit tests or properties (%d by unit tests, %d by properties)",
		t.Mutants, t.Tested, t.percent(t.Tested), t.Units, t.Properties)
	if t.Simulated > 0 {
		text += fmt.Sprintf(";\n  %d of %d by the simulator, %d by nothing else", t.Seen, t.Simulated, t.OnlySeen)
	}
	text += fmt.Sprintf(";\n  %d survive the tests without a reason, %d with one", t.Unexplained, t.Explained)
	if t.Stillborn > 0 {
		text += fmt.Sprintf("; %d more do not compile", t.Stillborn)
	}
	return text
}

// enough is the percentage of our own mutants without a reason to survive that unit tests and properties must find.
const enough = 95

// Shortcomings are the reasons for which the results are not good enough. Generated mutants do not count: people look at
// them.
func Shortcomings(results []Result) []string {
	var own []Result
	var short []string
	sick := map[string]bool{}
	for _, r := range results {
		if r.Generated {
			continue
		}
		own = append(own, r)
		for _, v := range r.Verdicts {
			for _, name := range v.Sick {
				sick[fmt.Sprintf("%s of %s fails without any mutant", name, v.Package)] = true
			}
		}
		if why := r.Stillborn(); why != "" {
			short = append(short, fmt.Sprintf("%s: %s", r.ID, why))
		}
		if r.Tested() && r.Survives != "" {
			short = append(short, fmt.Sprintf("%s is found, and says that it cannot be: %s", r.ID, r.Survives))
		}
		if r.Hunted && len(r.Looks) > 0 && !r.Seen() {
			short = append(short, fmt.Sprintf("%s touches a statement, and the simulator does not find it", r.ID))
		}
	}
	if t := Count(own); t.percent(t.Tested) < enough {
		short = append(short, fmt.Sprintf("unit tests and properties find %d %% of our own mutants; %d %% are required", t.percent(t.Tested), enough))
	}
	return append(short, slices.Sorted(maps.Keys(sick))...)
}

// Survivors prints the mutants that no test found, with the known facts.
func Survivors(w io.Writer, results []Result) {
	for _, r := range results {
		if r.Tested() || r.Stillborn() != "" {
			continue
		}
		fmt.Fprintf(w, "\n%s\n  in   %s\n  from %s\n  to   %s\n", r.ID, r.Place, indented(r.From), indented(r.To))
		if !r.Generated {
			fmt.Fprintf(w, "  so   %s\n", r.Note)
		}
		if r.Survives != "" {
			fmt.Fprintf(w, "  why  %s\n", r.Survives)
		}
		for dialect, l := range r.Looks {
			if l.Statement != "" {
				fmt.Fprintf(w, "  seen by the simulator: %s, seed %d: %s\n", dialect, l.Seed, l.Statement)
			}
		}
	}
}

func indented(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n       ")
}

// Write writes the results to a file.
func Write(name string, results []Result) error {
	var own, generated []Result
	for _, r := range results {
		if r.Generated {
			generated = append(generated, r)
		} else {
			own = append(own, r)
		}
	}
	raw, err := json.MarshalIndent(map[string]any{"own": Count(own), "generated": Count(generated), "results": results}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, append(raw, '\n'), 0o644)
}
