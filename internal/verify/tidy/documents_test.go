package tidy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// prose reads the Markdown files that are tracked, by path.
func prose(t *testing.T) map[string]string {
	t.Helper()
	dir := root(t)
	names, err := Tracked(dir)
	if err != nil {
		t.Skipf("what is tracked is not known: %v", err)
	}
	texts := map[string]string{}
	for _, name := range names {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

func exists(t *testing.T) func(string) bool {
	dir := root(t)
	return func(name string) bool {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil && len(found) > 0
	}
}

func complain(t *testing.T, violations []Violation) {
	t.Helper()
	for _, violation := range violations {
		t.Error(violation)
	}
}

func TestLinksOfDocuments(t *testing.T) {
	complain(t, Links(prose(t), exists(t)))
}

// TestPlacesInDocuments is about documents that lead to code. Decisions and the roadmap speak of code as it was.
func TestPlacesInDocuments(t *testing.T) {
	texts := prose(t)
	for name := range texts {
		led := within(name, "docs/contributing") || name == "ARCHITECTURE.md" || name == "CONTRIBUTING.md" || name == "README.md"
		if !led {
			delete(texts, name)
		}
	}
	complain(t, Places(texts, exists(t)))
}

func TestTour(t *testing.T) {
	const name = "docs/contributing/tour.md"
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	text := prose(t)[name]
	if strings.Count(text, ".go)") < 3*MaxWalkFiles {
		t.Errorf("%s has lost its walks", name)
	}
	complain(t, Walks(name, text, files))
}

func TestGlossary(t *testing.T) {
	const name = "docs/contributing/glossary.md"
	if n := Rows(prose(t)[name]); n == 0 || n > MaxGlossary {
		t.Errorf("%s has %d entries, and may have %d: give one of them a name that nobody has to look up", name, n, MaxGlossary)
	}
}

func TestDecisionsAreListed(t *testing.T) {
	texts := prose(t)
	index := texts["docs/decisions/README.md"]
	for name := range texts {
		base := path.Base(name)
		if path.Dir(name) == "docs/decisions" && base != "README.md" && !strings.Contains(index, "]("+base+")") {
			t.Errorf("docs/decisions/README.md does not list %s", base)
		}
	}
}

// TestStoriesAreListed: who asks what happens when ... finds the story that tells it.
func TestStoriesAreListed(t *testing.T) {
	text, found := prose(t)["docs/contributing/stories.md"], 0
	for _, pattern := range []string{"internal/engine/lifecycle/testdata/*.golden", "internal/engine/rollout/testdata/stories/*.txt"} {
		files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if found++; !strings.Contains(text, "/"+filepath.Base(file)+")") {
				t.Errorf("docs/contributing/stories.md does not list %s", filepath.Base(file))
			}
		}
	}
	if found == 0 {
		t.Error("no story was found")
	}
}

// TestDecisionsSayWhatBecameOfThem: who reads a decision alone learns that a later one replaces or completes it.
func TestDecisionsSayWhatBecameOfThem(t *testing.T) {
	texts, later := prose(t), 0
	for _, row := range strings.Split(texts["docs/decisions/README.md"], "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 7 || !strings.Contains(cells[1], "](") {
			continue
		}
		name := "docs/decisions/" + decisionFile.FindStringSubmatch(cells[1])[1]
		head, _, _ := strings.Cut(texts[name], "\n## ")
		for _, by := range decisionFile.FindAllStringSubmatch(cells[4], -1) {
			if later++; !strings.Contains(head, "]("+by[1]+")") {
				t.Errorf("%s does not say at its head what the index says: that %s replaces or completes it", name, by[1])
			}
		}
	}
	if later == 0 {
		t.Error("no decision was found that a later one replaces or completes")
	}
}

var decisionFile = regexp.MustCompile(`\]\((\S+?\.md)\)`)

func TestLinksCatches(t *testing.T) {
	there := func(name string) bool { return name == "docs/a.md" || name == "README.md" }
	cases := []struct {
		text   string
		caught int
		reason string
	}{
		{"[a](a.md), [a](a.md#part), [up](../README.md)", 0, "what is there may be linked to"},
		{"[b](b.md) and [c](../c.md)", 2, "what is not there is caught, twice in a line too"},
		{"[`b`](b.md), `[a](a-z)`", 1, "code is no link, and may be the text of one"},
		{"[x](https://example.com/b.md), [y](#part), [z](mailto:a@example.com)", 0, "other sites and this page are not files"},
	}
	for _, c := range cases {
		if got := Links(map[string]string{"docs/a.md": c.text}, there); len(got) != c.caught {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

func TestPlacesCatches(t *testing.T) {
	there := func(name string) bool { return name == "internal/a" || name == "internal/*/b.go" }
	cases := []struct {
		text   string
		caught int
		reason string
	}{
		{"`internal/a` and `internal/a/`", 0, "a folder with and without its slash"},
		{"`internal/*/b.go`", 0, "a star is left to who looks"},
		{"`internal/gone`", 1, "what is not there"},
		{"internal/gone, `go test ./internal/gone`, `machine/gone`", 0, "prose, commands and other paths"},
	}
	for _, c := range cases {
		if got := Places(map[string]string{"a.md": c.text}, there); len(got) != c.caught {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

func TestWalksCatches(t *testing.T) {
	files := parse(t, map[string]string{"x/a.go": "package x\n\n// T is it.\ntype T int\n\nfunc (T) f() {\n" + strings.Repeat("\n", MaxWalkLines) + "}\n"})
	row := func(words string) string { return "| [a.go](../x/a.go) | " + words + " |\n" }
	cases := []struct {
		text   string
		caught int
		reason string
	}{
		{row("`T`"), 0, "a type that is there"},
		{row("`T`, `gone`"), 1, "a declaration that is not there"},
		{row("`f`"), 1, "a walk that is too long"},
		{strings.Repeat(row("`T`"), MaxWalkFiles), 0, "as many files as may be"},
		{strings.Repeat(row("`T`"), MaxWalkFiles+1), 1, "one more"},
		{strings.Repeat(row("`T`"), MaxWalkFiles) + "\n" + row("`T`"), 0, "two walks are two"},
	}
	for _, c := range cases {
		if got := Walks("docs/tour.md", c.text, files); len(got) != c.caught {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

func TestRows(t *testing.T) {
	if n := Rows("| a |\n|---|\n| b |\n| c |\n\ntext\n"); n != 2 {
		t.Errorf("counted %d rows of 2", n)
	}
}
