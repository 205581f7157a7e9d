package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kind is the kind of a test.
type kind string

const (
	unitTest kind = "unit test"
	// property: the test draws its cases with rapid.
	property kind = "property"
	// boxed: the test needs a control plane, and is left out.
	boxed kind = "boxed"
	// sick: the test fails without a mutant, and cannot find one.
	sick kind = "sick"
)

// tests is the kind of each test function of a package.
type tests map[string]kind

// testsOf reads the tests of a folder. A test that calls rapid or devplanetest, also through functions of its package, is of
// that kind.
func testsOf(dir string) (tests, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	uses := map[string]map[string]bool{}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading tests: %w", err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name != "TestMain" {
				note(uses, f)
			}
		}
	}
	kinds := tests{}
	for name := range uses {
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		switch reached := reach(uses, name); {
		case reached["devplanetest.Start"] || reached["devplanetest.Namespace"]:
			kinds[name] = boxed
		case reached["rapid.Check"] || reached["rapid.MakeCheck"]:
			kinds[name] = property
		default:
			kinds[name] = unitTest
		}
	}
	return kinds, nil
}

// note adds the names that a function mentions: names of functions that it calls or passes on, and names package.Name. The
// function's own declarations do not count.
func note(uses map[string]map[string]bool, f *ast.FuncDecl) {
	mentioned := uses[f.Name.Name]
	if mentioned == nil {
		mentioned = map[string]bool{}
		uses[f.Name.Name] = mentioned
	}
	own := declared(f)
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "rapid" || x.Name == "devplanetest") {
				mentioned[x.Name+"."+n.Sel.Name] = true
			}
			ast.Inspect(n.X, visit)
			return false // a field or method of another type may have the name of a function
		case *ast.Ident:
			if !own[n.Name] {
				mentioned[n.Name] = true
			}
		}
		return true
	}
	ast.Inspect(f, visit)
}

// declared are the names of a function's parameters and variables.
func declared(f *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	add := func(e ast.Expr) {
		if name, ok := e.(*ast.Ident); ok {
			own[name.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, left := range n.Lhs {
					add(left)
				}
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key)
				add(n.Value)
			}
		}
		return true
	})
	return own
}

// reach are all names that a function and the functions that it calls mention.
func reach(uses map[string]map[string]bool, name string) map[string]bool {
	reached := map[string]bool{}
	next := []string{name}
	for len(next) > 0 {
		name, next = next[0], next[1:]
		for used := range uses[name] {
			if !reached[used] {
				reached[used] = true
				next = append(next, used)
			}
		}
	}
	return reached
}

// of returns the sorted names of the tests of the kinds.
func (t tests) of(kinds ...kind) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if slices.Contains(kinds, t[name]) {
			names = append(names, name)
		}
	}
	return names
}

// only is a pattern that matches exactly the names.
func only(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }
