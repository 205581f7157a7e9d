package terminal

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fleet returns a table like that of `millwright up`.
func fleet() []Column {
	api, short := make([]string, 6), make([]string, 6)
	ns, name, phase, node, seconds := make([]string, 6), make([]string, 6), make([]string, 6), make([]string, 6), make([]string, 6)
	for i := range 6 {
		api[i], short[i], ns[i] = "machine.openshift.io", "openshift", "openshift-machine-api"
		name[i] = fmt.Sprintf("mill-worker-a-%05d", i)
		phase[i], node[i], seconds[i] = "Provisioning", "NotReady", "12.8"
	}
	return []Column{
		{Title: "API", Cells: api, Short: short, Drop: 3},
		{Title: "NAMESPACE", Cells: ns, Drop: 1},
		{Title: "MACHINE", Cells: name, Tail: true},
		{Title: "PHASE", Cells: phase},
		{Title: "NODE", Cells: node},
		{Title: "SECONDS", Cells: seconds, Drop: 2},
	}
}

func TestTable(t *testing.T) {
	for _, test := range []struct {
		reason string
		size   Size
		header string
		row    string
	}{
		{"all columns fit", Size{160, 24}, "API                   NAMESPACE              MACHINE              PHASE         NODE      SECONDS", "machine.openshift.io  openshift-machine-api  mill-worker-a-00003  Provisioning  NotReady  12.8"},
		{"80 columns are too narrow for namespaces", Size{80, 24}, "API        MACHINE              PHASE         NODE      SECONDS", "openshift  mill-worker-a-00003  Provisioning  NotReady  12.8"},
		{"40 columns show the ends of names", Size{40, 24}, "MACHINE          PHASE         NODE", "…worker-a-00003  Provisioning  NotReady"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := Table(fleet(), test.size)
			if len(got) != 7 {
				t.Fatalf("%d lines, want a header and 6 rows:\n%s", len(got), strings.Join(got, "\n"))
			}
			if fields(got[0]) != fields(test.header) || got[4] != test.row && fields(got[4]) != fields(test.row) {
				t.Errorf("want\n%s\n%s\ngot\n%s\n%s", test.header, test.row, got[0], got[4])
			}
		})
	}
}

func fields(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestTableNeverWraps: for every size, no line reaches the last column, and the table has fewer lines than the
// terminal, or two lines.
func TestTableNeverWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size{rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")}
		lines := Table(fleet(), size)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n >= size.Width || strings.Contains(line, "\n") {
				t.Fatalf("a line has %d characters in a terminal of width %d: %q", n, size.Width, line)
			}
		}
		if len(lines) >= max(size.Height, 3) {
			t.Fatalf("%d lines in a terminal of height %d", len(lines), size.Height)
		}
		if size.Height == 4 && size.Width > 20 && lines[2] != "and 5 more" {
			t.Fatalf("the last line lacks the number of omitted rows: %q", lines[2])
		}
	})
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		reason, text string
		width        int
		want         string
	}{
		{"the text fits", "box: ready", 80, "box: ready"},
		{"the last column stays free", "0123456789", 10, "01234567…"},
		{"a control character becomes a space", "a\nb\tc", 80, "a b c"},
		{"the width is 0", "a", 0, ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if got := Line(test.text, test.width); got != test.want {
				t.Errorf("%s: line %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
