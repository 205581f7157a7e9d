package tidy

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of a walk through the code, as docs/contributing/tour.md has them: what is longer is not read in one sitting.
const (
	MaxWalkFiles = 10
	MaxWalkLines = 1500
)

// MaxGlossary is how many words a newcomer can be asked to learn.
const MaxGlossary = 20

var (
	link   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// place is a path of this repository, as prose names it; a star stands for some files.
	place = regexp.MustCompile(`^(api|cmd|config|docs|examples|hack|internal|provider|providers|serve|test)/[\w./*-]+$`)
)

// Links checks that what a Markdown file links to is there. Documents are the texts by path, exists answers for paths of the
// repository, which may contain stars.
func Links(documents map[string]string, exists func(string) bool) []Violation {
	return eachLine(documents, func(name, line string) (problems []string) {
		for _, found := range link.FindAllStringSubmatch(quoted.ReplaceAllString(line, ""), -1) {
			target, _, _ := strings.Cut(found[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue // a place on the same page, or another site
			}
			if to := path.Join(path.Dir(name), target); !exists(to) {
				problems = append(problems, fmt.Sprintf("links to %s, which is not there", to))
			}
		}
		return problems
	})
}

// Places checks that the paths which prose names in backticks are there.
func Places(documents map[string]string, exists func(string) bool) []Violation {
	return eachLine(documents, func(_, line string) (problems []string) {
		for _, found := range quoted.FindAllStringSubmatch(line, -1) {
			if place.MatchString(found[1]) && !exists(strings.TrimSuffix(found[1], "/")) {
				problems = append(problems, fmt.Sprintf("names %s, which is not there", found[1]))
			}
		}
		return problems
	})
}

func eachLine(documents map[string]string, rule func(name, line string) []string) []Violation {
	var violations []Violation
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		for number, line := range strings.Split(documents[name], "\n") {
			for _, problem := range rule(name, line) {
				violations = append(violations, Violation{fmt.Sprintf("%s:%d", name, number+1), problem})
			}
		}
	}
	return violations
}

// Walks checks the reading lists of a document: tables whose rows link to a Go file and name declarations in it. The
// declarations are there, and each table keeps to the limits.
func Walks(name, text string, files []*File) []Violation {
	byPath := map[string]*File{}
	for _, file := range files {
		byPath[file.Path] = file
	}
	var violations []Violation
	rows, lines := 0, 0
	for number, line := range append(strings.Split(text, "\n"), "") {
		if !strings.HasPrefix(line, "|") {
			if rows > MaxWalkFiles || lines > MaxWalkLines {
				violations = append(violations, Violation{fmt.Sprintf("%s:%d", name, number), fmt.Sprintf(
					"a walk through %d files and %d lines ends here: the limits are %d and %d", rows, lines, MaxWalkFiles, MaxWalkLines)})
			}
			rows, lines = 0, 0
			continue
		}
		found := link.FindStringSubmatch(line)
		if found == nil || path.Ext(found[1]) != ".go" {
			continue
		}
		rows++
		file := byPath[path.Join(path.Dir(name), found[1])]
		if file == nil {
			continue // a broken link
		}
		for _, word := range quoted.FindAllStringSubmatch(line, -1) {
			n := linesOf(file, word[1])
			if n == 0 {
				violations = append(violations, Violation{fmt.Sprintf("%s:%d", name, number+1), fmt.Sprintf("%s declares no %s", file.Path, word[1])})
			}
			lines += n
		}
	}
	return violations
}

// linesOf is the length of a name's top-level declarations, comments included; 0 if it has none.
func linesOf(file *File, name string) (lines int) {
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.Name == name {
				lines += spanned(file, decl) + 1 + commented(file, decl.Doc)
			}
		case *ast.GenDecl:
			if slices.ContainsFunc(decl.Specs, func(spec ast.Spec) bool { return declares(spec, name) }) {
				lines += spanned(file, decl) + 1 + commented(file, decl.Doc)
			}
		}
	}
	return lines
}

func commented(file *File, doc *ast.CommentGroup) int {
	if doc == nil {
		return 0
	}
	return spanned(file, doc) + 1
}

func declares(spec ast.Spec, name string) bool {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Name.Name == name
	case *ast.ValueSpec:
		return slices.ContainsFunc(spec.Names, func(n *ast.Ident) bool { return n.Name == name })
	}
	return false
}

// Rows is how many rows the tables of a document have, their heads not counted.
func Rows(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "|--"):
			n-- // the head above
		case strings.HasPrefix(line, "|"):
			n++
		}
	}
	return n
}
