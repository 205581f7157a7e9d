package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moduleOf writes a module with the name of our module and these files, and returns its folder.
func moduleOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const ledger = `package expect

type Ledger struct{ n int }

func (l *Ledger) Add(n int) {
	if n < 0 {
		return
	}
	l.n += n
}

func Add(n int) int { return n + n }

var steps = []int{
	1,
	2,
}
`

func TestSource(t *testing.T) {
	dir := moduleOf(t, map[string]string{"internal/controller/expectations/ledger.go": ledger})
	for _, c := range []struct {
		reason    string
		m         Mutant
		want, err string
	}{
		{"a method is Receiver.Name, and what others say of the same does not count", Mutant{Func: "Ledger.Add", From: "n < 0", To: "n <= 0"}, "if n <= 0 {", ""},
		{"a variable is a declaration too", Mutant{Func: "steps", From: "\t1,\n", To: ""}, "{\n\t2,\n}", ""},
		{"nobody knows which of two is meant", Mutant{Func: "Add", From: "n", To: "m"}, "", "has 7 times, and not once: n"},
		{"the function has changed since", Mutant{Func: "Add", From: "n * n", To: "n"}, "", "has 0 times, and not once: n * n"},
		{"the function is gone", Mutant{Func: "Sub", From: "n", To: "m"}, "", "declares no Sub"},
		{"an empty snippet is everywhere", Mutant{Func: "Add", To: "m"}, "", "and not once"},
		{"what comes out has to be Go", Mutant{Func: "Add", From: "{ return n + n }", To: "{ return"}, "", "is no Go"},
	} {
		c.m.ID, c.m.File = "expectations/try", "ledger.go"
		source, err := c.m.Source(dir)
		switch {
		case c.err == "" && (err != nil || !strings.Contains(string(source), c.want)):
			t.Errorf("%s: got %s, %v; want %s in it", c.reason, source, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "expectations/try")):
			t.Errorf("%s: got error %v, want one with the ID and %q", c.reason, err, c.err)
		}
	}
	if _, err := (Mutant{ID: "nowhere/try", File: "ledger.go"}).Source(dir); err == nil || !strings.Contains(err.Error(), "no room nowhere") {
		t.Errorf("a mutant of an unknown room: %v", err)
	}
}
