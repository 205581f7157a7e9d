package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// groups are the named constants of a folder, by type.
type groups map[string][]string

// next is the constant of the same type that follows name; the first one follows the last. It is empty if there is no other
// constant.
func (g groups) next(name string) string {
	for _, names := range g {
		if n := slices.Index(names, name); n >= 0 && len(names) > 1 {
			return names[(n+1)%len(names)]
		}
	}
	return ""
}

// constantsOf reads the constants of a folder that have a type of their own: reasons, steps, stages.
func constantsOf(dir string) groups {
	g := groups{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return g
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
				g.add(d)
			}
		}
	}
	return g
}

// add adds a block of constants. A constant without a type has the type of the constant before, as with iota.
func (g groups) add(d *ast.GenDecl) {
	group := ""
	for _, spec := range d.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if ident, ok := value.Type.(*ast.Ident); ok {
			group = ident.Name
		} else if len(value.Values) > 0 {
			group = ""
		}
		if group == "" || !ast.IsExported(group) {
			continue
		}
		for _, name := range value.Names {
			g[group] = append(g[group], name.Name)
		}
	}
}

// words replaces constants among results. The walk meets the constants in literals itself.
func (g *generator) words(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		g.word(e)
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if _, keyed := element.(*ast.KeyValueExpr); !keyed {
				g.word(element)
			}
		}
	}
}

// word replaces a constant by the next constant of its type.
func (g *generator) word(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		if other := g.constantsIn(filepath.Join(g.root, filepath.FromSlash(g.room.dir))).next(e.Name); other != "" {
			g.add(e.Name+" to "+other, e.Pos(), e.End(), other)
		}
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		if !ok {
			return
		}
		if dir := g.imported(pkg.Name); dir != "" {
			if other := g.constantsIn(dir).next(e.Sel.Name); other != "" {
				g.add(e.Sel.Name+" to "+other, e.Sel.Pos(), e.Sel.End(), other)
			}
		}
	}
}

func (g *generator) constantsIn(dir string) groups {
	if _, ok := g.constants[dir]; !ok {
		g.constants[dir] = constantsOf(dir)
	}
	return g.constants[dir]
}

// imported is the folder of a package of the module that the file imports under the name; empty if the file imports no such package.
func (g *generator) imported(name string) string {
	for _, spec := range g.syntax.Imports {
		value, err := strconv.Unquote(spec.Path.Value)
		rest, ours := strings.CutPrefix(value, module+"/")
		if err != nil || !ours {
			continue
		}
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && rest[strings.LastIndexByte(rest, '/')+1:] == name {
			return filepath.Join(g.root, filepath.FromSlash(rest))
		}
	}
	return ""
}
