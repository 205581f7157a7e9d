package kubemark_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/providers/kubemark"
)

// section is the section of the provider's page with a title.
func section(t *testing.T, title string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "providers", "kubemark.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n## "+title+"\n")
	if !found {
		t.Fatalf("the page has no section %s", title)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

var inCode = regexp.MustCompile("`(?:--)?([^`]+)`")

// firstCells are the names in the first cells of a section's tables.
func firstCells(text string) []string {
	names := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range inCode.FindAllStringSubmatch(cells[1], -1) {
			top, _, _ := strings.Cut(name[1], ".")
			names[top] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// fieldsOf are the JSON names of a struct's fields.
func fieldsOf(s reflect.Type) (out []string) {
	for f := range s.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "inline" {
			out = append(out, fieldsOf(f.Type)...)
			continue
		}
		out = append(out, name)
	}
	return out
}

// TestPageHasEveryField: the page of the provider has a row for each field of the provider spec, and no other.
func TestPageHasEveryField(t *testing.T) {
	want := fieldsOf(reflect.TypeFor[kubemark.Spec]())
	want = slices.DeleteFunc(want, func(f string) bool { return f == "kind" || f == "apiVersion" }) // in the text above the tables
	slices.Sort(want)
	if diff := cmp.Diff(want, firstCells(section(t, "Fields"))); diff != "" {
		t.Errorf("the page and the spec differ (-spec +page):\n%s", diff)
	}
}
