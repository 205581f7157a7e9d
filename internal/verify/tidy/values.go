package tidy

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Values checks that what is shipped reads the values of our annotations by [millwright.Read] only, so that there is one parser and
// the reference page is true: outside of its package, no map is asked for the value of a key whose form is more than text. Whether
// a key is there may be asked, and a value may be written. A function that looks a key up which it is handed counts as a map.
func Values(files []*File) []Violation {
	names, lookups := keyNames(files), keyLookups(files)
	return each(files, func(file *File) []Violation {
		if !readsValues(file) {
			return nil
		}
		var violations []Violation
		object := func(at token.Pos, key ast.Expr) {
			if name := names.of(file, key); parsed(name) {
				violations = append(violations, file.violation(at, "looks %s up: read it by %s.Read", name, keysRoom))
			}
		}
		silent := notRead(file.Syntax)
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.IndexExpr:
				if !silent[node] {
					object(node.Pos(), node.Index)
				}
			case *ast.CallExpr:
				if !slices.Contains(lookups, calledName(node)) {
					break
				}
				for _, argument := range node.Args {
					object(argument.Pos(), argument)
				}
			}
			return true
		})
		return violations
	})
}

func readsValues(file *File) bool {
	return !file.Test && !file.Generated && file.Dir() != keysRoom && (withinAny(file.Dir(), shipped) || within(file.Dir(), "internal/plugin"))
}

// parsed reports whether a key is ours, and has a form that some package has to parse.
func parsed(key string) bool {
	return slices.ContainsFunc(millwright.Keys(), func(k millwright.Key) bool { return k.Name == key && k.Form != millwright.Text })
}

// constants are the values of constants that are keys of ours, by package and name: "dialect.EscalationAnnotation".
type constants map[string]string

// keyNames follows constants through those that stand for others ("const RackLabel = millwright.RackLabel").
func keyNames(files []*File) constants {
	all := constants{}
	for range 3 { // a constant of a constant of a key is the most that there is
		for _, file := range files {
			ast.Inspect(file.Syntax, func(node ast.Node) bool {
				if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
					for i, name := range spec.Names {
						if key := all.of(file, spec.Values[i]); key != "" {
							all[file.Syntax.Name.Name+"."+name.Name] = key
						}
					}
				}
				return true
			})
		}
	}
	return all
}

// of is the key that an expression stands for; empty for none.
func (c constants) of(file *File, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return c[file.Syntax.Name.Name+"."+e.Name]
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return c[x.Name+"."+e.Sel.Name]
		}
	case *ast.BasicLit:
		return keyOf(e)
	}
	return ""
}

// notRead are the places of a map that are written, or only looked whether they are there.
func notRead(syntax ast.Node) map[ast.Node]bool {
	out := map[ast.Node]bool{}
	ast.Inspect(syntax, func(node ast.Node) bool {
		assigned, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, left := range assigned.Lhs {
			out[left] = true
		}
		if first, ok := assigned.Lhs[0].(*ast.Ident); ok && first.Name == "_" && len(assigned.Lhs) == 2 && len(assigned.Rhs) == 1 {
			out[assigned.Rhs[0]] = true
		}
		return true
	})
	return out
}

// keyLookups are the names of functions, of this repository and of any receiver, that read a map at a key which they are handed.
func keyLookups(files []*File) (out []string) {
	for _, file := range files {
		if !readsValues(file) {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				if looksUp(node.Type, node.Body) {
					out = append(out, node.Name.Name)
				}
			case *ast.AssignStmt:
				for i, right := range node.Rhs {
					function, ok := right.(*ast.FuncLit)
					if name, named := node.Lhs[min(i, len(node.Lhs)-1)].(*ast.Ident); ok && named && looksUp(function.Type, function.Body) {
						out = append(out, name.Name)
					}
				}
			}
			return true
		})
	}
	return out
}

func looksUp(signature *ast.FuncType, body *ast.BlockStmt) (found bool) {
	if body == nil {
		return false
	}
	var texts []string
	for _, field := range signature.Params.List {
		if kind, ok := field.Type.(*ast.Ident); ok && kind.Name == "string" {
			for _, name := range field.Names {
				texts = append(texts, name.Name)
			}
		}
	}
	silent := notRead(body)
	ast.Inspect(body, func(node ast.Node) bool {
		if index, ok := node.(*ast.IndexExpr); ok && !silent[index] {
			key, named := index.Index.(*ast.Ident)
			found = found || named && slices.Contains(texts, key.Name)
		}
		return true
	})
	return found
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
