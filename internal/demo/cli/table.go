package cli

import (
	"fmt"
	"os"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// table shows machines: on a terminal a table that is redrawn, otherwise a line
// for each change.
type table struct {
	out      *os.File
	terminal bool
	drawn    int
	last     map[string]string
}

func newTable(out *os.File) *table {
	return &table{out: out, last: map[string]string{}, terminal: terminal.Is(out)}
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

// draw overwrites the previous table.
func (t *table) draw(machines []fleet.Machine) {
	if t.drawn > 0 {
		fmt.Fprintf(t.out, "\x1b[%dA\x1b[J", t.drawn)
	}
	lines := render(machines, terminal.SizeOf(t.out))
	t.drawn = len(lines)
	for _, line := range lines {
		fmt.Fprintln(t.out, line)
	}
}

// render returns the table in lines that fit the terminal.
func render(machines []fleet.Machine, size terminal.Size) []string {
	api := terminal.Column{Title: "API", Drop: 3}
	namespace := terminal.Column{Title: "NAMESPACE", Drop: 1}
	name := terminal.Column{Title: "MACHINE", Tail: true}
	phase, node := terminal.Column{Title: "PHASE"}, terminal.Column{Title: "NODE"}
	seconds := terminal.Column{Title: "SECONDS", Drop: 2}
	for _, m := range machines {
		of, _ := apis.Of(m.API)
		api.Cells, api.Short = append(api.Cells, m.API), append(api.Short, of.Short)
		namespace.Cells, name.Cells = append(namespace.Cells, m.Namespace), append(name.Cells, m.Name)
		phase.Cells, node.Cells = append(phase.Cells, orDash(m.Phase)), append(node.Cells, nodeWord(m))
		seconds.Cells = append(seconds.Cells, fmt.Sprintf("%.1f", m.Seconds))
	}
	return terminal.Table([]terminal.Column{api, namespace, name, phase, node, seconds}, size)
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
