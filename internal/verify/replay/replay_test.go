package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

func limit(t *testing.T, text string) health.Limit {
	t.Helper()
	l, err := health.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func outages(t *testing.T) []Outage {
	t.Helper()
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// page is where the tables are shown.
const page = "../../../docs/outages.md"

// TestTables plays all outages to all rules. The result is reviewed as a diff:
// of testdata, which docs/outages.md repeats.
func TestTables(t *testing.T) {
	columns := Columns("`machine.openshift.io`", "`machine.sapcloud.io`")
	for name, most := range map[string]string{"all": "100%", "some": "40%"} {
		got, file := Table(outages(t), columns, limit(t, most)), filepath.Join("testdata", name+".md")
		want, shown := read(t, file), read(t, page)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			shown, want = strings.ReplaceAll(shown, want, got), got
			write(t, file, want)
			write(t, page, shown)
		}
		if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
			t.Errorf("%s: run with UPDATE_GOLDEN=1 if this is meant:\n%s", file, d)
		}
		if !strings.Contains(shown, want) {
			t.Errorf("%s does not show %s", page, file)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What the page promises of every outage, whatever the numbers.
func TestPromises(t *testing.T) {
	all := outages(t)
	if len(all) < 10 {
		t.Errorf("there are only %d outages", len(all))
	}
	for _, o := range all {
		for _, most := range []string{"100%", "40%"} {
			l := limit(t, most)
			checks, reporting, enforcing := play(o, allAtOnce{l}), play(o, newOurs(l, health.Report)), play(o, newOurs(l, health.Enforce))
			if reporting.Replaced > checks.Replaced {
				t.Errorf("%s, %s: reporting replaces %d, the original %d", o.Name, most, reporting.Replaced, checks.Replaced)
			}
			if enforcing.Vain > reporting.Vain || enforcing.Replaced > reporting.Replaced {
				t.Errorf("%s, %s: enforcing replaces %d (%d in vain), reporting %d (%d)", o.Name, most, enforcing.Replaced, enforcing.Vain, reporting.Replaced, reporting.Vain)
			}
			if enforcing.Vain > checks.Vain {
				t.Errorf("%s, %s: enforcing replaces %d in vain, the original %d", o.Name, most, enforcing.Vain, checks.Vain)
			}
			if again := play(o, newOurs(l, health.Enforce)); again != enforcing {
				t.Errorf("%s, %s: the same outage came to %+v and to %+v", o.Name, most, enforcing, again)
			}
		}
	}
}

func TestParse(t *testing.T) {
	const good = "title: t\nlasts: 1h\nfleet: [{set: a, machines: 1}]\n"
	for _, c := range []struct{ reason, text, want string }{
		{"nothing wrong", good, ""},
		{"no title", "lasts: 1h\n", "title: must be"},
		{"no time", "title: t\n", "lasts: must be"},
		{"an empty set", "title: t\nlasts: 1h\nfleet: [{set: a}]\n", "fleet[0]: must be"},
		{"an unknown trouble", good + "troubles: [{kind: fire}]\n", `troubles[0].kind: must be one of [silent notready gone barred doomed slow blind], is "fire"`},
		{"down and never up", good + "troubles: [{kind: silent, down: 1m}]\n", "troubles[0].up: must be"},
		{"an unknown field", good + "weather: bad\n", "weather"},
		{"no duration", "title: t\nlasts: long\n", "long"},
	} {
		_, err := Parse([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
		}
	}
}
