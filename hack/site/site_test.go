package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// TestPages: all pages have a title and a place of their own, the index is first, and each heading of the sidebar has pages.
func TestPages(t *testing.T) {
	pages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{}
	for _, p := range pages {
		if other := places[p.place]; other != "" {
			t.Errorf("%s and %s are both at /%s", p.file, other, p.place)
		}
		places[p.place] = p.file
	}
	if len(pages) < 100 || places[""] != "docs/README.md" || places["providers/aws/"] != "docs/providers/aws.md" || places["runbooks/"] != "docs/runbooks/README.md" {
		t.Errorf("read %d pages, not as expected", len(pages))
	}
	index := pages[slices.IndexFunc(pages, func(p page) bool { return p.place == "" })].text
	names, first := parts(index)
	for _, name := range names {
		if first[name] == "" {
			t.Errorf("part %q of docs/README.md links to no page", name)
		}
	}
	if len(names) < 4 {
		t.Errorf("found the parts %q", names)
	}
}

// TestOrder: pages follow the index; what it does not list is last.
func TestOrder(t *testing.T) {
	pages := order([]page{{file: "docs/a.md"}, {file: "docs/b.md"}, {file: "docs/c/README.md"}}, "| [c](c/README.md#x), [b](b.md) |\n| [b](b.md) |\n")
	var got []string
	for _, p := range pages {
		got = append(got, p.file)
	}
	if want := []string{"docs/c/README.md", "docs/b.md", "docs/a.md"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTitled(t *testing.T) {
	title, rest, err := titled("<!-- generated -->\n\n# The `x` page\n\nText\n# no heading of the page\n")
	if err != nil || title != "The x page" || !strings.HasPrefix(rest, "Text\n") {
		t.Errorf("got %q, %q, %v", title, rest, err)
	}
	if _, _, err := titled("## Text\n"); err == nil {
		t.Error("a page without a title is accepted")
	}
}

func TestSections(t *testing.T) {
	got := sections("Before\ngoes on.\n\n## A `b`, and [c](d.md)\n- one\n- two\n  of it\n\n| x | y |\n|---|---|\n| [1](a) | **2** |\n```sh\n# no heading\n```\n")
	want := map[string]string{
		"": "Before goes on.", "a-b-and-c#A b, and c": "- one\n- two of it\nx · y\n1 · 2\n# no heading",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSearchData: the data are JSON once Hugo has read them as a template, whatever braces a page has, and pages of records are left out.
func TestSearchData(t *testing.T) {
	text, err := searchData([]page{
		{place: "", text: "index"}, {place: "b/", title: "B", text: "a {{ .Brace }}\n"}, {place: "a/", title: "A", text: "x\n"}, {place: "originals/x/", text: "y\n"},
	}, "https://example.com/millwright/")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Index(text, "/millwright/b/") > strings.Index(text, "/millwright/a/") {
		t.Error("pages have lost their order")
	}
	var read strings.Builder
	if err := template.Must(template.New("").Parse(text)).Execute(&read, nil); err != nil {
		t.Fatal(err)
	}
	var got map[string]struct {
		Title string
		Data  map[string]string
	}
	if err := json.Unmarshal([]byte(read.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["/millwright/b/"].Title != "B" || got["/millwright/b/"].Data[""] != "a {{ .Brace }}" {
		t.Errorf("got %v", got)
	}
}

func TestNeighbours(t *testing.T) {
	pages := []page{{place: ""}, {place: "a/"}, {place: "x/b/"}, {place: "c/"}}
	for _, c := range []struct {
		of            int
		before, after any
	}{{1, false, "/c"}, {3, "/a", false}, {2, false, false}} {
		if before, after := neighbours(pages, c.of); before != c.before || after != c.after {
			t.Errorf("%s: got %v and %v", pages[c.of].place, before, after)
		}
	}
}

// TestWrite: Hugo gets a file for each page, and a place for each link that a page may have.
func TestWrite(t *testing.T) {
	pages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := write(root, dir, "/", pages); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"content/_index.md", "content/providers/aws.md", "content/runbooks/_index.md", "content/about/readme.md", "content/part-operate.md", "static/images/why.svg",
		"data/places.json", "hugo.yaml", "htmltest.yaml", "layouts/_default/_markup/render-link.html", "assets/json/search-data.json",
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestThemeIsPinned: the checksum of the theme is stored.
func TestThemeIsPinned(t *testing.T) {
	sums, err := os.ReadFile(filepath.Join(root, "tools", "site", "theme.sum"))
	if err != nil || !strings.Contains(string(sums), "github.com/imfing/hextra v") {
		t.Errorf("tools/site/theme.sum does not pin the theme: %v", err)
	}
}
