package bench

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// column is a figure on a page.
type column struct {
	title string
	phase string
	// figure is the name of the figure in [Measured.figures].
	figure string
	// each divides the value by the number of machines, then scale multiplies it.
	each  bool
	scale float64
}

// columns are the columns of the page's tables.
var columns = []column{
	{title: "created, s", phase: create, figure: "seconds"},
	{title: "raw client, s", phase: create, figure: "seconds of the raw ceiling with nodes joining"},
	{title: "ratio", phase: create, figure: "ratio to the raw ceiling with nodes joining"},
	{title: "scale to cloud call, times the raw client's, p50", phase: create, figure: "ratio of scale to cloud call, p50"},
	{title: "p99", phase: create, figure: "ratio of scale to cloud call, p99"},
	{title: "node Ready to machine Running, p99, s", phase: create, figure: "node Ready to machine Running, p99, seconds"},
	{title: "CPU per machine, ms", phase: create, figure: "CPU of the controllers per machine, ms"},
	{title: "memory at most, MiB", phase: create, figure: "peak memory of the controllers, MiB"},
	{title: "API writes per machine", phase: create, figure: "API writes per machine"},
	{title: "CPU at rest, % of a core", phase: create, figure: "CPU of the controllers at rest, % of a core"},
	{title: "restart until the next instance is asked for, s", phase: create, figure: "restart until the next instance is asked for, seconds"},
	{title: "deleted, s", phase: remove, figure: "seconds"},
	{title: "raw client, s", phase: remove, figure: "seconds of the raw ceiling"},
	{title: "ratio", phase: remove, figure: "ratio to the raw ceiling"},
	{title: "CPU per machine, ms", phase: remove, figure: "CPU of the controllers per machine, ms"},
}

// plot shows figures by the number of machines, one line for each figure.
type plot struct {
	title, unit string
	lines       []column
}

// plots are the plots of the page. A value that grows linearly is a level line in them.
var plots = []plot{
	{"time for each machine created: the controllers, and the raw client", "ms", []column{
		{phase: create, figure: "seconds", each: true, scale: 1000},
		{phase: create, figure: "seconds of the raw ceiling with nodes joining", each: true, scale: 1000},
	}},
	{"time for each machine deleted: the controllers, and the raw client", "ms", []column{
		{phase: remove, figure: "seconds", each: true, scale: 1000},
		{phase: remove, figure: "seconds of the raw ceiling", each: true, scale: 1000},
	}},
	{"CPU of the controllers for each machine: created, and deleted", "ms", []column{
		{phase: create, figure: "CPU of the controllers per machine, ms", scale: 1},
		{phase: remove, figure: "CPU of the controllers per machine, ms", scale: 1},
	}},
}

// Page is the figures as Markdown, with plots that GitHub draws.
func (r *Report) Page() string {
	p := page{}
	for _, s := range r.subjects() {
		of := map[string]float64{}
		for _, f := range summaries(r.of(s), nil) {
			of[f.name] = f.value
		}
		p[s] = of
	}
	var out strings.Builder
	p.print(&out)
	return out.String()
}

// pageOf is the page for the figures in a file: it is in the same folder.
func pageOf(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".md" }

// page has the medians of a report, by subject and figure.
type page map[Subject]map[string]float64

// family are the subjects that differ only in phase and number of machines.
type family struct {
	API, BootTime, Distance string
	Sets                    int
}

func (p page) families() map[family][]int {
	out := map[family][]int{}
	for s := range p {
		if f := (family{s.API, s.BootTime, s.Distance, s.Sets}); s.Phase == create && !slices.Contains(out[f], s.Machines) {
			out[f] = append(out[f], s.Machines)
		}
	}
	return out
}

func (p page) print(w io.Writer) {
	fmt.Fprint(w, "# Figures of the bench\n\nWritten by `make bench` from the figures that it keeps beside this page: each is the median of its rounds. "+
		"What they mean, and how to repeat them, is in docs/performance.md.\n")
	families := p.families()
	ordered := slices.SortedFunc(maps.Keys(families), func(a, b family) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.BootTime, b.BootTime), cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Sets, b.Sets))
	})
	for _, f := range ordered {
		sizes := slices.Sorted(slices.Values(families[f]))
		fmt.Fprintf(w, "\n## %s\n", f)
		p.table(w, f, sizes)
		if len(sizes) > 2 {
			p.plots(w, f, sizes)
		}
	}
}

func (f family) String() string {
	out := f.API
	if f.Sets > 1 {
		out += fmt.Sprintf(", %d sets", f.Sets)
	}
	if f.BootTime != "" {
		out += ", instances that boot for " + f.BootTime
	}
	if f.Distance != "" {
		out += ", " + f.Distance + " from the API server"
	}
	return out
}

// value is a figure of a family with a number of machines; false if it was not measured.
func (p page) value(f family, size int, c column) (float64, bool) {
	v, ok := p[Subject{API: f.API, Phase: c.phase, Machines: size, BootTime: f.BootTime, Distance: f.Distance, Sets: f.Sets}][c.figure]
	if c.each {
		v /= float64(size)
	}
	return v * cmp.Or(c.scale, 1), ok
}

// table has a row for each figure and a column for each number of machines.
func (p page) table(w io.Writer, f family, sizes []int) {
	fmt.Fprint(w, "\n| machines |")
	for _, size := range sizes {
		fmt.Fprintf(w, " %d |", size)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("--:|", len(sizes)))
	for _, c := range columns {
		fmt.Fprintf(w, "| %s |", c.title)
		for _, size := range sizes {
			if v, ok := p.value(f, size, c); ok {
				fmt.Fprintf(w, " %.4g |", v)
			} else {
				fmt.Fprint(w, " |")
			}
		}
		fmt.Fprintln(w)
	}
}

func (p page) plots(w io.Writer, f family, sizes []int) {
	for _, plot := range plots {
		fmt.Fprintf(w, "\n```mermaid\nxychart-beta\n  title %q\n  x-axis \"machines\" %s\n  y-axis %q 0 --> %.4g\n", plot.title, numbers(sizes, "%d"), plot.unit, p.highest(f, sizes, plot))
		for _, c := range plot.lines {
			var values []float64
			for _, size := range sizes {
				v, _ := p.value(f, size, c)
				values = append(values, v)
			}
			fmt.Fprintf(w, "  line %s\n", numbers(values, "%.3g"))
		}
		fmt.Fprint(w, "```\n")
	}
}

// highest is a little more than the highest value of a plot.
func (p page) highest(f family, sizes []int, of plot) (most float64) {
	for _, c := range of.lines {
		for _, size := range sizes {
			v, _ := p.value(f, size, c)
			most = max(most, 1.1*v)
		}
	}
	return most
}

func numbers[N int | float64](values []N, format string) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf(format, v))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
