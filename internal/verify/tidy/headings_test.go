package tidy

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestAnchorsOfDocuments(t *testing.T) { complain(t, Anchors(prose(t))) }

// TestNamedTests is about what is said now. Decisions and the roadmap speak of tests as they were.
func TestNamedTests(t *testing.T) {
	texts := prose(t)
	for name := range texts {
		if within(name, "docs/decisions") || name == "docs/roadmap.md" || name == "docs/contributing/gaps.md" {
			delete(texts, name)
		}
	}
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	complain(t, NamedTests(texts, files))
}

func TestAnchors(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		broken       int
	}{
		{"a heading on another page", "[x](b.md#what-is-left)", 0},
		{"one that is not there", "[x](b.md#what-was-left)", 1},
		{"a heading on the same page, with code and a colon", "## Of `a/b`: c\n[x](#of-ab-c)", 0},
		{"one on the same page that is not there", "[x](#nowhere)", 1},
		{"a comment in code is no heading", "```\n# x\n```\n[x](#x)", 1},
		{"a page that is not among the documents", "[x](other.go#L3)", 0},
		{"another site", "[x](https://example.com/b.md#nowhere)", 0},
	} {
		got := Anchors(map[string]string{"docs/a.md": c.text, "docs/b.md": "# B\n\n## What is [left](a.md)\n"})
		if len(got) != c.broken {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

func TestTestsThatProseNames(t *testing.T) {
	syntax, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a\nfunc TestThere() {}\nfunc (x) TestOfAType() {}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	files := []*File{{Path: "a_test.go", Syntax: syntax, Test: true}}
	for text, broken := range map[string]int{"see `TestThere`": 0, "see `TestGone`": 1, "see `TestOfAType`": 1, "TestGone in words": 0, "the kin `TestInPlaceOf…`": 0} {
		if got := NamedTests(map[string]string{"a.md": text}, files); len(got) != broken {
			t.Errorf("%s: %v", text, got)
		}
	}
}
