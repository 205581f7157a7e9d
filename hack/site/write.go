package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repository is the address of files that are not in the site.
const repository = "https://github.com/millwright-dev/millwright/blob/main"

// write writes the files that Hugo reads.
func write(root, source, base string, pages []page) error {
	places := map[string]string{}
	for i, p := range pages {
		places[p.file] = p.place
		if err := put(source, "content/"+p.content(), p.front(neighbours(pages, i))+p.text); err != nil {
			return err
		}
	}
	if err := separate(source, pages); err != nil {
		return err
	}
	if err := others(root, source, places); err != nil {
		return err
	}
	for name, value := range map[string]any{"places": places, "repository": map[string]string{"files": repository}} {
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if err := put(source, "data/"+name+".json", string(raw)); err != nil {
			return err
		}
	}
	data, err := searchData(pages, base)
	if err != nil {
		return err
	}
	if err := put(source, "assets/json/search-data.json", data); err != nil {
		return err
	}
	for _, name := range []string{"hugo.yaml", "htmltest.yaml"} {
		raw, err := os.ReadFile(filepath.Join(root, "tools", "site", name))
		if err != nil {
			return err
		}
		if err := put(source, name, string(raw)); err != nil {
			return err
		}
	}
	for _, name := range []string{"layouts", "assets/css"} {
		if err := os.CopyFS(filepath.Join(source, name), os.DirFS(filepath.Join(root, "tools", "site", name))); err != nil {
			return err
		}
	}
	return nil
}

// listed are the folders whose index lists their pages. The sidebar, which each page has, omits these pages.
var listed = []string{"decisions/", "runbooks/", "reference/"}

// front returns the front matter of a page for Hugo. before and after are its neighbors.
func (p page) front(before, after any) string {
	front := map[string]any{"title": p.title, "weight": p.weight, "prev": before, "next": after, "params": map[string]any{"source": p.file}}
	section := strings.HasSuffix(p.content(), "_index.md")
	switch {
	case p.place == "":
		front["title"] = "Millwright"
	case section:
		front["sidebar"] = map[string]bool{"open": false}
	case slices.ContainsFunc(listed, func(dir string) bool { return strings.HasPrefix(p.place, dir) }):
		front["sidebar"] = map[string]bool{"exclude": true}
	}
	return matter(front)
}

// neighbours returns the pages of the same folder before and after a page; false if there is no such page.
func neighbours(pages []page, of int) (before, after any) {
	beside := func(p page) bool {
		return p.place != "" && path.Dir(path.Clean(p.place)) == path.Dir(path.Clean(pages[of].place))
	}
	before, after = false, false
	for i, p := range pages {
		switch {
		case !beside(p):
		case i < of:
			before = "/" + path.Clean(p.place)
		case i > of:
			return before, "/" + path.Clean(p.place)
		}
	}
	return before, after
}

func matter(values map[string]any) string {
	raw, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return string(raw) + "\n\n"
}

// separate writes the headings of the sidebar, which are those of the index, and the page above the pages from outside of
// docs/.
func separate(source string, pages []page) error {
	index := pages[slices.IndexFunc(pages, func(p page) bool { return p.place == "" })].text
	names, first := parts(index)
	for _, name := range names {
		weight := 0
		for _, p := range pages {
			if p.file == first[name] {
				weight = p.weight - 1
			}
		}
		err := put(source, "content/part-"+strings.ReplaceAll(strings.ToLower(name), " ", "-")+".md", matter(map[string]any{
			"title": name, "weight": weight, "sidebar": map[string]bool{"separator": true}, "build": map[string]string{"render": "never", "list": "always"},
			"excludeSearch": true,
		}))
		if err != nil {
			return err
		}
	}
	last := pages[len(pages)-1].weight
	return put(source, "content/about/_index.md", matter(map[string]any{"title": "About the project", "weight": last + 1, "sidebar": map[string]bool{"open": false}, "params": map[string]string{"source": "README.md"}}))
}

// others copies the files beside the pages: pictures, policies, roles.
func others(root, source string, places map[string]string) error {
	docs := filepath.Join(root, "docs")
	return filepath.WalkDir(docs, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) == ".md" {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(docs, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		places["docs/"+relative] = relative
		return put(source, path.Join("static", relative), string(raw))
	})
}

func put(dir, name, text string) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
