package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// Source returns the mutant's file below root, with the defect.
func (m Mutant) Source(root string) ([]byte, error) {
	if roomOf(m.Room()).dir == "" {
		return nil, fmt.Errorf("mutant %s: there is no room %s", m.ID, m.Room())
	}
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.path())))
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
	}
	at := m.at
	if at == nil {
		if at, err = m.find(source); err != nil {
			return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
		}
	}
	mutated := string(source[:at.from]) + m.To + string(source[at.to:])
	if _, err := parser.ParseFile(token.NewFileSet(), m.path(), mutated, parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("mutant %s is no Go: %w", m.ID, err)
	}
	return []byte(mutated), nil
}

// find returns the place of the snippet in the declaration.
func (m Mutant) find(source []byte) (*span, error) {
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, m.path(), source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	decl := declaration(syntax, m.Func)
	if decl == nil {
		return nil, fmt.Errorf("%s declares no %s", m.path(), m.Func)
	}
	from, to := positions.Position(decl.Pos()).Offset, positions.Position(decl.End()).Offset
	text := string(source[from:to])
	if n := strings.Count(text, m.From); n != 1 || m.From == "" {
		return nil, fmt.Errorf("%s of %s has %d times, and not once: %s", m.Func, m.path(), n, m.From)
	}
	at := from + strings.Index(text, m.From)
	return &span{at, at + len(m.From)}, nil
}

// declaration returns the top-level declaration of a name; nil if it does not exist. For variables, constants and types it is
// the declaration of that one name.
func declaration(file *ast.File, name string) ast.Node {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if tidy.FunctionName(decl) == name {
				return decl
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if declares(spec, name) {
					return spec
				}
			}
		}
	}
	return nil
}

func declares(spec ast.Spec, name string) bool {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Name.Name == name
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.Name == name {
				return true
			}
		}
	}
	return false
}
