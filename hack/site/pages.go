package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// page is a Markdown file of the repository and its place in the site.
type page struct {
	// file is relative to the root of the repository. place is relative to the root of the site, without a slash at the
	// beginning: "providers/aws/".
	file, place string
	title, text string
	// weight orders pages with the same parent.
	weight int
}

// content is the path at which Hugo expects the page.
func (p page) content() string {
	switch {
	case p.place == "":
		return "_index.md"
	case path.Base(p.file) == "README.md" && strings.HasPrefix(p.file, "docs/"):
		return p.place + "_index.md"
	}
	return strings.TrimSuffix(p.place, "/") + ".md"
}

// about are pages from outside of docs/.
var about = []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}

// read returns all pages: first in the order of docs/README.md, then by name.
func read(root string) ([]page, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(name) == ".md" {
			relative, _ := filepath.Rel(root, name)
			files = append(files, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	var pages []page
	for _, file := range append(files, about...) {
		raw, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		p := page{file: file, place: placeOf(file)}
		if p.title, p.text, err = titled(string(raw)); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		pages = append(pages, p)
	}
	index := slices.IndexFunc(pages, func(p page) bool { return p.place == "" })
	if index < 0 {
		return nil, fmt.Errorf("docs/README.md is not there")
	}
	return order(pages, pages[index].text), nil
}

// placeOf returns the place of a file in the site.
func placeOf(file string) string {
	within, is := strings.CutPrefix(file, "docs/")
	if !is {
		within = "about/" + strings.ToLower(file)
	} else if path.Base(within) == "README.md" {
		return strings.TrimPrefix(path.Dir(within)+"/", "./")
	}
	return strings.ToLower(strings.TrimSuffix(within, ".md")) + "/"
}

var (
	heading = regexp.MustCompile(`(?m)^# +(.+)\n+`)
	link    = regexp.MustCompile(`\]\(([^)#\s]+\.md)[^)]*\)`)
	part    = regexp.MustCompile(`^## +(.+)`)
)

// titled separates a text from its heading. Text before the heading is a comment for authors.
func titled(text string) (title, rest string, err error) {
	at := heading.FindStringSubmatchIndex(text)
	if at == nil {
		return "", "", fmt.Errorf("there is no heading")
	}
	return strings.ReplaceAll(text[at[2]:at[3]], "`", ""), text[at[1]:], nil
}

// order sets the weight of pages by the first link in an index.
func order(pages []page, index string) []page {
	weights := map[string]int{}
	for _, found := range link.FindAllStringSubmatch(index, -1) {
		if file := path.Join("docs", found[1]); weights[file] == 0 {
			weights[file] = 10 * (len(weights) + 1)
		}
	}
	for i := range pages {
		p := &pages[i]
		if p.weight = weights[p.file]; p.weight == 0 {
			p.weight = 10 * (len(weights) + 1)
		}
	}
	slices.SortStableFunc(pages, func(a, b page) int { return a.weight - b.weight })
	return pages
}

// parts returns the headings of the index, with the first linked file of each.
func parts(index string) (names []string, first map[string]string) {
	first = map[string]string{}
	for line := range strings.Lines(index) {
		if found := part.FindStringSubmatch(strings.TrimSpace(line)); found != nil {
			names = append(names, found[1])
			continue
		}
		if found := link.FindStringSubmatch(line); found != nil && len(names) > 0 && first[names[len(names)-1]] == "" {
			first[names[len(names)-1]] = path.Join("docs", found[1])
		}
	}
	return names, first
}
