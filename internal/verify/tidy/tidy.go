// Package tidy states the rules of this repository and checks them in ordinary tests: which room may import what, what a
// pure package must not do, how long functions and files may be, how wide types and packages may be, that every package says
// what it is for, and what must not be in a tracked file. Each rule has a test that feeds it a violation, so that a rule that
// sees nothing is noticed.
//
// The rules read source text only; nothing is compiled and no network is needed.
package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the import path of the main module.
const Module = "github.com/millwright-dev/millwright"

// A Violation is one place that breaks one rule.
type Violation struct {
	Place string // file:line, relative to the root of the repository
	Text  string // what is wrong and what to do instead
}

func (v Violation) String() string {
	return v.Place + ": " + v.Text
}

// A File is a parsed Go source file.
type File struct {
	Path      string // relative to the root of the repository, with slashes
	Test      bool   // a _test.go file
	Generated bool   // says "Code generated ... DO NOT EDIT."
	Lines     int
	Syntax    *ast.File
	Positions *token.FileSet
}

// Dir is the directory of the file relative to the root of the repository, which for files of the main module is also the
// import path of the package after the module's.
func (f *File) Dir() string {
	return path.Dir(f.Path)
}

func (f *File) violation(at token.Pos, format string, args ...any) Violation {
	return Violation{
		Place: fmt.Sprintf("%s:%d", f.Path, f.Positions.Position(at).Line),
		Text:  fmt.Sprintf(format, args...),
	}
}

// Parse reads one Go source file; name is its path relative to the root of the repository.
func Parse(name string, source []byte) (*File, error) {
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", name, err)
	}
	return &File{
		Path:      name,
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(syntax),
		Lines:     bytes.Count(source, []byte("\n")),
		Syntax:    syntax,
		Positions: positions,
	}, nil
}

// Load parses every Go file below root, whatever its build constraints, and sorts the files by path.
func Load(root string) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file, err := Parse(filepath.ToSlash(relative), source)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading the Go files of %s: %w", root, err)
	}
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// skipped reports whether a directory holds nothing that the rules are about.
func skipped(name string) bool {
	return slices.Contains([]string{".git", ".cache", "bin", "testdata", "node_modules"}, name)
}

// Here finds the repository that the process works in.
func Here() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return Root(dir)
}

// Root finds the repository that a directory is in: the nearest parent whose go.mod declares Module.
func Root(dir string) (string, error) {
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+Module+"\n")) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no directory here or above belongs to module %s", Module)
		}
		dir = parent
	}
}

// each applies a rule for one file to all files.
func each(files []*File, rule func(*File) []Violation) []Violation {
	var violations []Violation
	for _, file := range files {
		violations = append(violations, rule(file)...)
	}
	return violations
}

// within reports whether a slash-separated path is a prefix's or below it. The empty prefix contains everything.
func within(name, prefix string) bool {
	return prefix == "" || name == prefix || strings.HasPrefix(name, prefix+"/")
}

// withinAny reports whether a path is within one of the prefixes.
func withinAny(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return within(name, prefix) })
}
