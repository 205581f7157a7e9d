package bench

import (
	"fmt"
	"io"
	"strings"
)

// mostOperations is how many operations are printed for a phase; -o has all.
const mostOperations = 6

// print writes the calls for people, in 80 columns.
func (c *CloudCalls) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d machines of %s\n", c.Provider, c.Machines, strings.Join(c.APIs, " and "))
	for _, l := range c.Limits {
		fmt.Fprintf(w, "  the cloud takes %g a second of %s, %g at once\n", l.PerSecond, orAll(l.Operation), l.Burst)
	}
	const row = "%-10s %8s %9s %7s %9s %8s %9s %7s\n"
	fmt.Fprintf(w, row, "", "", "", "looks", "changes", "reads", "", "most in")
	fmt.Fprintf(w, row, "phase", "seconds", "instances", "each", "each", "each", "throttled", "1 s")
	for _, p := range c.Phases {
		fmt.Fprintf(w, row, p.Phase, fmt.Sprintf("%.1f", p.Seconds), fmt.Sprint(p.Instances), fmt.Sprintf("%.2f", p.Looks),
			fmt.Sprintf("%.3f", p.Changes), fmt.Sprintf("%.3f", p.Reads), fmt.Sprint(p.Throttled), fmt.Sprint(p.PeakPerSecond))
	}
	for _, p := range c.Phases {
		for i, o := range p.Operations {
			if i == mostOperations {
				break
			}
			what := "read"
			if o.Changes {
				what = "change"
			}
			fmt.Fprintf(w, "  %-10s %-44.44s %-6s %7d %6.3f\n", p.Phase, o.Name, what, o.Calls, o.PerMachine)
		}
	}
	fmt.Fprintln(w)
}

func orAll(operation string) string {
	if operation == "" {
		return "everything"
	}
	return operation
}
