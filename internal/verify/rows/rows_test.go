package rows

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// pages are those of docs/originals. Events are known by their reasons.
var pages = []page{
	{file: "openshift-rows.md", notes: "openshift.md", sections: []string{"6", "7", "8", "9"}, keys: map[string]int{"9.3": 2}},
	{file: "gardener-rows.md", notes: "gardener.md", sections: []string{"6", "7"}, keys: map[string]int{"7.4": 2}},
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	root, err := tidy.Here()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(append([]string{root, "docs"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sources are the tests of the repository, in whichever module, and the documents.
func sources(t *testing.T) tree {
	t.Helper()
	root, err := tidy.Here()
	if err != nil {
		t.Fatal(err)
	}
	files, err := tidy.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	out := tree{tests: map[string]bool{}, texts: map[string]map[string]bool{}}
	for _, f := range files {
		if !f.Test {
			continue
		}
		for _, d := range f.Syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				out.tests[f.Dir()+": "+fn.Name.Name] = true
			}
		}
		if out.texts[f.Dir()] == nil {
			out.texts[f.Dir()] = map[string]bool{}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					out.texts[f.Dir()][text] = true
				}
			}
			return true
		})
	}
	for _, name := range []string{"compatibility", "roadmap"} {
		out.lines = append(out.lines, anchored(name, read(t, name+".md"))...)
	}
	return out
}

// TestEveryRowIsHeld: each row of the notes is named by a test or a line, and that test exists under that name.
func TestEveryRowIsHeld(t *testing.T) {
	from := sources(t)
	if len(from.tests) < 1000 || len(from.lines) < 100 {
		t.Fatalf("only %d tests and %d lines were found", len(from.tests), len(from.lines))
	}
	for _, p := range pages {
		text := read(t, "originals", p.file)
		for _, problem := range slices.Concat(p.missing(read(t, "originals", p.notes), text), from.unfounded(text)) {
			t.Errorf("docs/originals/%s %s", p.file, problem)
		}
	}
}

// TestCatches: what would make a page useless is noticed.
func TestCatches(t *testing.T) {
	p := page{sections: []string{"6"}, keys: map[string]int{"6.2": 1}}
	notes := "## 6. Six\n### 6.1 A\n| x | y |\n|---|---|\n| `a \\| b` | 1 |\n### 6.2 B\n| x | y |\n|---|---|\n| 1 | c |\n## 7. Seven\n| x |\n|---|\n| d |\n"
	from := tree{
		tests: map[string]bool{"a/b: TestX": true}, texts: map[string]map[string]bool{"a/b": {"a row": true}},
		lines: anchored("compatibility", "### Some Things, here\n| behaviour | state |\n|---|---|\n| keys (C1) are kept | same |\n"),
	}
	whole := "### 6.1 A\n| row | says | held |\n|---|---|---|\n| `a \\| b` | s | `a/b: TestX/a row`, [keys (C1)](../compatibility.md#some-things-here) |\n### 6.2 B\n| row | says | held |\n|---|---|---|\n| c | s | `a/b: TestX` |\n"
	for _, c := range []struct{ reason, old, with string }{
		{"nothing is wrong", "", ""},
		{"a row is missing", "| c | s | `a/b: TestX` |\n", ""},
		{"a row of another name", "| c | s", "| e | s"},
		{"a row in another section", "### 6.2", "### 6.3"},
		{"a test that is not there", "`a/b: TestX` |", "`a/b: TestY` |"},
		{"a test of another package", "`a/b: TestX` |", "`a/c: TestX` |"},
		{"a row that the test has not", "/a row`", "/another row`"},
		{"no name of a test", "`a/b: TestX` |", "`TestX` |"},
		{"a line that is not there", "[keys (C1)]", "[locks]"},
		{"a line elsewhere", "#some-things-here", "#some-things"},
		{"nothing is named", "`a/b: TestX` |", "by reading |"},
		{"a cell is missing", "| c | s |", "| c |"},
	} {
		text := strings.Replace(whole, c.old, c.with, 1)
		problems := slices.Concat(p.missing(notes, text), from.unfounded(text))
		if (len(problems) == 0) != (c.old == "") {
			t.Errorf("%s: %q", c.reason, problems)
		}
	}
}
