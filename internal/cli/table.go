package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/millwright-dev/millwright/internal/fleet"
)

// table shows machines: on a terminal one table that is drawn anew, else a
// line for each change.
type table struct {
	out      *os.File
	terminal bool
	drawn    int
	last     map[string]string
}

func newTable(out *os.File) *table {
	info, err := out.Stat()
	return &table{
		out: out, last: map[string]string{},
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb",
	}
}

func (t *table) show(machines []fleet.Machine) {
	if t.terminal {
		t.draw(machines)
		return
	}
	for _, m := range machines {
		line := fmt.Sprintf("%s/%s %s %s", m.Namespace, m.Name, orDash(m.Phase), nodeWord(m))
		if t.last[m.UID] != line {
			t.last[m.UID] = line
			fmt.Fprintf(t.out, "%6.1fs  %s\n", m.Seconds, line)
		}
	}
}

// draw writes the table over the one drawn before.
func (t *table) draw(machines []fleet.Machine) {
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn)
	}
	rows := render(&b, machines)
	t.drawn = rows
	_, _ = io.WriteString(t.out, b.String())
}

// render writes the table and returns how many lines it has.
func render(w io.Writer, machines []fleet.Machine) int {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "API\tNAMESPACE\tMACHINE\tPHASE\tNODE\tSECONDS")
	for _, m := range machines {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%.1f\n", m.API, m.Namespace, m.Name, orDash(m.Phase), nodeWord(m), m.Seconds)
	}
	_ = tw.Flush()
	return len(machines) + 1
}

func nodeWord(m fleet.Machine) string {
	switch m.NodeReady {
	case "":
		return "-"
	case "True":
		return "Ready"
	}
	return "NotReady"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
