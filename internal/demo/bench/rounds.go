package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// String is the name of the subject for people.
func (s Subject) String() string {
	out := fmt.Sprintf("%s: %s %d machines", s.API, s.Phase, s.Machines)
	if s.Sets > 1 {
		out += fmt.Sprintf(" of %d sets", s.Sets)
	}
	if s.BootTime != "" {
		out += " that boot for " + s.BootTime
	}
	if s.Distance != "" {
		out += ", " + s.Distance + " from the API server"
	}
	return out
}

// subjects are the subjects of the runs, in the order in which they were first measured.
func (r *Report) subjects() (all []Subject) {
	for _, m := range r.Runs {
		if s := m.Subject; !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// of returns the runs of a subject, one for each round.
func (r *Report) of(s Subject) (runs []Measured) {
	for _, m := range r.Runs {
		if m.Subject == s {
			runs = append(runs, m)
		}
	}
	return runs
}

// summary is a figure over all rounds. Its value is the median.
type summary struct {
	figure
	least, most float64
	rounds      int
	// before is the median of an earlier report, if that report has the figure.
	before *float64
}

// summaries are the figures of a subject. If some rounds lack a figure, its median is the median of the other rounds.
func summaries(runs, before []Measured) (all []summary) {
	values, earlier := figuresByName(runs), figuresByName(before)
	seen := map[string]bool{}
	for _, m := range runs {
		for _, f := range m.figures() {
			if seen[f.name] {
				continue
			}
			seen[f.name] = true
			of := values[f.name]
			s := summary{figure: f, least: slices.Min(of), most: slices.Max(of), rounds: len(of)}
			s.value = median(of)
			if b := earlier[f.name]; len(b) > 0 {
				middle := median(b)
				s.before = &middle
			}
			all = append(all, s)
		}
	}
	return all
}

func figuresByName(runs []Measured) map[string][]float64 {
	out := map[string][]float64{}
	for _, m := range runs {
		for _, f := range m.figures() {
			out[f.name] = append(out[f.name], f.value)
		}
	}
	return out
}

// median is the value in the middle, or the mean of the two values in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// row is the row of a figure. It has the least and the most if there are several rounds, and the median of an earlier report.
func (s summary) row(several, compared bool) string {
	out := s.figure.row()
	if several {
		spread := ""
		if s.rounds > 1 {
			spread = fmt.Sprintf(s.format+" to "+s.format, s.least, s.most)
		}
		out += "\t" + spread
	}
	if compared {
		before := "-"
		if s.before != nil {
			before = fmt.Sprintf(s.format, *s.before)
		}
		out += "\t" + before
	}
	return out
}

// meanWrites are the mean writes of all rounds.
func meanWrites(runs []Measured, of func(*Measured) map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for i := range runs {
		for what, n := range of(&runs[i]) {
			out[what] += n / float64(len(runs))
		}
	}
	return out
}

// Load reads a stored report; nil if the file does not exist.
func Load(file string) (*Report, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read stored figures: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("read stored figures: %s: %w", file, err)
	}
	return r, nil
}

// Store writes the report to a file and its page beside the file. It keeps figures in the file that this report did not measure.
func (r *Report) Store(file string) error {
	next := *r
	if r.Before != nil {
		measured := r.subjects()
		for _, m := range r.Before.Runs {
			if !slices.Contains(measured, m.Subject) {
				next.Runs = append(slices.Clone(next.Runs), m)
			}
		}
	}
	raw, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("store figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("store figures: %w", err)
	}
	err = errors.Join(os.WriteFile(file, append(raw, '\n'), 0o644), os.WriteFile(pageOf(file), []byte(next.Page()), 0o644))
	if err != nil {
		return fmt.Errorf("store figures: %w", err)
	}
	return nil
}

// printRuns prints the phases, each with the median of its rounds.
func (r *Report) printRuns(w io.Writer) {
	for _, s := range r.subjects() {
		runs := r.of(s)
		var before []Measured
		if r.Before != nil {
			before = r.Before.of(s)
		}
		several := len(runs) > 1
		header := fmt.Sprintf("%s\tmeasured\tbudget\t", s)
		if several {
			header = fmt.Sprintf("%s\tmedian of %d\tbudget\t\tleast to most", s, len(runs))
		}
		if len(before) > 0 {
			header += "\tbefore"
		}
		fmt.Fprintln(w, header)
		for _, f := range summaries(runs, before) {
			fmt.Fprintln(w, f.row(several, len(before) > 0))
		}
		fmt.Fprintf(w, "  writes per machine: %s\n", list(meanWrites(runs, func(m *Measured) map[string]float64 { return m.WritesPerMachine })))
		if other := meanWrites(runs, func(m *Measured) map[string]float64 { return m.OtherWritesPerMachine }); len(other) > 0 {
			fmt.Fprintf(w, "  besides: %s\n", list(other))
		}
		if len(before) > 0 {
			fmt.Fprintf(w, "  before: %s\n", before[0].Program)
		}
		fmt.Fprintln(w)
	}
}
