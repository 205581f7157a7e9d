package terminal

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fleet is a table such as `millwright up` shows.
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
		{"there is room for all", Size{160, 24}, "API                   NAMESPACE              MACHINE              PHASE         NODE      SECONDS", "machine.openshift.io  openshift-machine-api  mill-worker-a-00003  Provisioning  NotReady  12.8"},
		{"a usual terminal has no room for namespaces", Size{80, 24}, "API        MACHINE              PHASE         NODE      SECONDS", "openshift  mill-worker-a-00003  Provisioning  NotReady  12.8"},
		{"in a narrow one, the end of the name tells machines apart", Size{40, 24}, "MACHINE          PHASE         NODE", "…worker-a-00003  Provisioning  NotReady"},
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

// TestTableNeverWraps: whatever the size, no line reaches the last column, and there
// are fewer lines than rows on the screen.
func TestTableNeverWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Size{rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")}
		lines := Table(fleet(), size)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n >= size.Width || strings.Contains(line, "\n") {
				t.Fatalf("%d characters in a terminal of %d: %q", n, size.Width, line)
			}
		}
		if len(lines) >= max(size.Height, 3) {
			t.Fatalf("%d lines in a terminal of %d", len(lines), size.Height)
		}
		if size.Height == 4 && size.Width > 20 && lines[2] != "and 5 more" {
			t.Fatalf("the last line does not say what is left out: %q", lines[2])
		}
	})
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		reason, text string
		width        int
		want         string
	}{
		{"it fits", "box: ready", 80, "box: ready"},
		{"the last column stays free", "0123456789", 10, "01234567…"},
		{"what would begin another line is a space", "a\nb\tc", 80, "a b c"},
		{"there is no room at all", "a", 0, ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if got := Line(test.text, test.width); got != test.want {
				t.Errorf("%s: %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
