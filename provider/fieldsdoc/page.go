// Package fieldsdoc keeps the page of a provider's fields in step with the provider's tests of fields.
package fieldsdoc

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Spec is one kind of provider spec.
type Spec struct {
	// Title is its heading, Note the text before its fields; empty: no text.
	Title, Note string
	Fields      []Field
}

// Field is a field of a spec: its path in JSON, its type in words, and its effect.
type Field struct{ Path, Type, Becomes string }

// Page checks that the file has the head and the tables of the specs, by path. With UPDATE_GOLDEN it writes
// the file.
func Page(t testing.TB, file, head string, specs ...Spec) {
	t.Helper()
	page := text(head, specs)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(has) != page {
		t.Errorf("%s is not what the tests of fields say: UPDATE_GOLDEN=1 go test -run %s . in this folder", file, t.Name())
	}
}

func text(head string, specs []Spec) string {
	var page strings.Builder
	page.WriteString(head)
	for _, s := range specs {
		fmt.Fprintf(&page, "\n## %s\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&page, "\n%s\n", s.Note)
		}
		page.WriteString("\n| field | type | effect |\n|---|---|---|\n")
		for _, f := range slices.SortedFunc(slices.Values(s.Fields), func(a, b Field) int { return cmp.Compare(a.Path, b.Path) }) {
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", f.Path, f.Type, f.Becomes)
		}
	}
	return page.String()
}
