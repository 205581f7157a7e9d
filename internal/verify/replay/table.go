package replay

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

// Column is a rule with its title.
type Column struct {
	Title string
	rule  func(most health.Limit) rule
}

// Columns are the rules that are compared. The titles of the first two are the
// caller's: those of the systems that go by them.
func Columns(checks, permits string) []Column {
	return []Column{
		{checks, func(most health.Limit) rule { return allAtOnce{most} }},
		{permits, func(health.Limit) rule { return newOneAtATime() }},
		{"Millwright, reporting", func(most health.Limit) rule { return newOurs(most, health.Report) }},
		{"Millwright, enforcing", func(most health.Limit) rule { return newOurs(most, health.Enforce) }},
	}
}

// Table plays the outages to the columns, with at most so many machines
// unhealthy, and prints the results as a table in Markdown. A cell is the
// number of machines replaced, how many of these in vain, and the machine-hours
// that were missing. The column before them is the final loss if
// no controller acts.
func Table(outages []Outage, columns []Column, most health.Limit) string {
	var out strings.Builder
	out.WriteString("| outage | machines | no action |")
	for _, c := range columns {
		fmt.Fprintf(&out, " %s |", c.Title)
	}
	out.WriteString("\n|---|--:|--:|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, o := range outages {
		total := 0
		for _, g := range o.Fleet {
			total += g.Machines
		}
		nobody := play(o, idle{})
		fmt.Fprintf(&out, "| %s | %d | %d down, %.1f h |", o.Title, total, nobody.Down, nobody.Missing.Hours())
		for _, c := range columns {
			r := play(o, c.rule(most))
			fmt.Fprintf(&out, " %d", r.Replaced)
			if r.Vain > 0 {
				fmt.Fprintf(&out, " (%d in vain)", r.Vain)
			}
			fmt.Fprintf(&out, ", %.1f h |", r.Missing.Hours())
		}
		out.WriteString("\n")
	}
	return out.String()
}
