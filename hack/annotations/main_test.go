package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/api/millwright"
)

// TestReferenceIsCurrent holds the page to the package.
func TestReferenceIsCurrent(t *testing.T) {
	page, err := os.ReadFile("../../docs/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(render(millwright.Keys()), string(page)); diff != "" {
		t.Errorf("docs/annotations.md is not what hack/generate makes (-want +have):\n%s", diff)
	}
}

func TestEveryKeyHasARow(t *testing.T) {
	page := render(millwright.Keys())
	for _, k := range millwright.Keys() {
		if n := strings.Count(page, "\n| `"+strings.TrimPrefix(k.Name, millwright.Prefix)+"` |"); n != 1 {
			t.Errorf("%s has %d rows", k.Name, n)
		}
	}
	for line := range strings.SplitSeq(page, "\n") {
		if n := strings.Count(line, "|"); strings.HasPrefix(line, "|") && n != 6 && n != 5 {
			t.Errorf("a row of %d cells: %s", n-1, line)
		}
	}
}
