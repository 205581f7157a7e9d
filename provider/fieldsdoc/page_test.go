package fieldsdoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that reports whether it has failed.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Errorf(format string, _ ...any) { r.said = format }

// TestPage: a page is written on request, matches afterwards, and no longer matches once a row has changed.
func TestPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fields.md")
	specs := []Spec{
		{Title: "a: A", Fields: []Field{{"b", "string", "`x`"}, {"a[]", "integer", "in no request: why"}}},
		{Title: "b: B", Note: "All of it twice."},
	}
	t.Setenv("UPDATE_GOLDEN", "1")
	Page(t, file, "# Head\n", specs...)
	t.Setenv("UPDATE_GOLDEN", "")
	Page(t, file, "# Head\n", specs...)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const table = "\n| field | type | effect |\n|---|---|---|\n"
	want := "# Head\n\n## a: A\n" + table + "| `a[]` | integer | in no request: why |\n| `b` | string | `x` |\n\n## b: B\n\nAll of it twice.\n" + table
	if string(raw) != want {
		t.Errorf("the page is\n%s\nwant\n%s", raw, want)
	}
	specs[0].Fields[0].Becomes = "`y`"
	r := &recorder{TB: t}
	if Page(r, file, "# Head\n", specs...); !strings.Contains(r.said, "UPDATE_GOLDEN") {
		t.Error("a row that has changed is not noticed")
	}
}
