package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// sources finds the texts that an expression may have: constants, parameters by the arguments of all calls, local variables by their assignments,
// functions by what they return. It reads syntax only, and reports what it cannot follow.
type sources struct {
	files map[string][]*tidy.File // by folder
	// constants are the expressions of the constants, by "folder.Name".
	constants map[string]ref
	// fields are the values of the fields that are followed, by "folder.field": the folder is that of the code that reads them.
	fields map[string][]ref
	// foreign are the constants of other modules, as the code spells them.
	foreign map[string]string
	// assumed are the values of expressions that cannot be followed, by "folder expression".
	assumed map[string][]string
}

// ref is an expression where it stands.
type ref struct {
	expr ast.Expr
	in   place
}

// place is a file and the functions around an expression, the outermost first.
type place struct {
	file  *tidy.File
	funcs []ast.Node
}

func (p place) key(e ast.Expr) string { return p.file.Dir() + " " + spelled(e) }

func (p place) line(at token.Pos) string {
	return fmt.Sprintf("%s:%d", p.file.Path, p.file.Positions.Position(at).Line)
}

// spelled is the source of a name with its members; empty for other expressions.
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return spelled(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		var args []string
		for _, arg := range e.Args {
			args = append(args, spelled(arg))
		}
		return spelled(e.Fun) + "(" + strings.Join(args, ", ") + ")"
	}
	return ""
}

// newSources reads files. Of followed struct types the fields have texts that code in a folder reads.
func newSources(files []*tidy.File, followed map[string]string) *sources {
	s := &sources{files: map[string][]*tidy.File{}, constants: map[string]ref{}, fields: map[string][]ref{}}
	for _, f := range files {
		s.files[f.Dir()] = append(s.files[f.Dir()], f)
		for _, decl := range f.Syntax.Decls {
			if d, is := decl.(*ast.GenDecl); is && d.Tok == token.CONST {
				s.declare(f, d)
			}
		}
		visit(f, func(n ast.Node, in place) {
			lit, is := n.(*ast.CompositeLit)
			if !is || followed[typeName(lit.Type)] == "" {
				return
			}
			for name, value := range keyed(lit) {
				key := followed[typeName(lit.Type)] + "." + name
				s.fields[key] = append(s.fields[key], ref{value, in})
			}
		})
	}
	return s
}

func (s *sources) declare(f *tidy.File, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if i < len(v.Values) {
				s.constants[f.Dir()+"."+name.Name] = ref{v.Values[i], place{file: f}}
			}
		}
	}
}

// visit calls do for each node of a file, with its place.
func visit(f *tidy.File, do func(ast.Node, place)) {
	var stack, funcs []ast.Node
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n == nil {
			last := stack[len(stack)-1]
			if stack = stack[:len(stack)-1]; len(funcs) > 0 && funcs[len(funcs)-1] == last {
				funcs = funcs[:len(funcs)-1]
			}
			return true
		}
		stack = append(stack, n)
		do(n, place{f, slices.Clone(funcs)})
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			funcs = append(funcs, n)
		}
		return true
	})
}

// typeName is the last name of a type, of which a slice may be made.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ArrayType:
		return typeName(e.Elt)
	}
	return ""
}

// keyed are the values of a composite literal by the names of their fields.
func keyed(lit *ast.CompositeLit) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, element := range lit.Elts {
		if kv, is := element.(*ast.KeyValueExpr); is {
			if name, is := kv.Key.(*ast.Ident); is {
				out[name.Name] = kv.Value
			}
		}
	}
	return out
}

// A lost is an expression that cannot be followed.
type lost struct{ at string }

func (l lost) Error() string { return l.at + ": cannot tell which texts this may be" }

// texts are those that an expression may have. Empty ones are left out.
func (s *sources) texts(r ref) ([]string, error) {
	if known, is := s.assumed[r.in.key(r.expr)]; is {
		return known, nil
	}
	switch e := r.expr.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || text == "" {
			return nil, nil //nolint:nilerr // no text
		}
		return []string{text}, nil
	case *ast.Ident:
		return s.named(e, r.in)
	case *ast.SelectorExpr:
		return s.selected(e, r.in)
	case *ast.CallExpr:
		return s.called(e, r.in)
	case *ast.IndexExpr:
		if lit, is := e.X.(*ast.CompositeLit); is {
			return s.union(refs(lit, r.in))
		}
	}
	return nil, lost{r.in.line(r.expr.Pos())}
}

// refs are the values of a literal of a map.
func refs(lit *ast.CompositeLit, in place) (out []ref) {
	for _, element := range lit.Elts {
		if kv, is := element.(*ast.KeyValueExpr); is {
			out = append(out, ref{kv.Value, in})
		}
	}
	return out
}

func (s *sources) union(all []ref) (out []string, err error) {
	for _, r := range all {
		texts, err := s.texts(r)
		if err != nil {
			return nil, err
		}
		out = append(out, texts...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// named follows a name: a variable, a parameter or a constant.
func (s *sources) named(e *ast.Ident, in place) ([]string, error) {
	if values, is := s.assigned(e.Name, in); is {
		return s.union(values)
	}
	if r, is := s.constants[in.file.Dir()+"."+e.Name]; is {
		return s.texts(r)
	}
	return nil, lost{in.line(e.Pos())}
}

// selected follows a constant of another package, or a field.
func (s *sources) selected(e *ast.SelectorExpr, in place) ([]string, error) {
	if text, is := s.foreign[spelled(e)]; is {
		return []string{text}, nil
	}
	if x, is := e.X.(*ast.Ident); is {
		if r, is := s.constants[folderOf(in.file, x.Name)+"."+e.Sel.Name]; is {
			return s.texts(r)
		}
	}
	if values, is := s.fields[in.file.Dir()+"."+e.Sel.Name]; is {
		return s.union(values)
	}
	return nil, lost{in.line(e.Pos())}
}

// called follows a conversion, cmp.Or, or what a function of the repository returns first.
func (s *sources) called(e *ast.CallExpr, in place) ([]string, error) {
	name := typeName(e.Fun)
	switch {
	case len(e.Args) == 1 && (name == "string" || strings.HasSuffix(name, "Type")):
		return s.texts(ref{e.Args[0], in})
	case spelled(e.Fun) == "cmp.Or":
		var all []ref
		for _, arg := range e.Args {
			all = append(all, ref{arg, in})
		}
		return s.union(all)
	}
	if values := s.returned(e, in, 0); len(values) > 0 {
		return s.union(values)
	}
	return nil, lost{in.line(e.Pos())}
}

// returned are the values that the called function returns at a position.
func (s *sources) returned(e *ast.CallExpr, in place, at int) (out []ref) {
	dir, name := in.file.Dir(), typeName(e.Fun)
	if sel, is := e.Fun.(*ast.SelectorExpr); is {
		if x, is := sel.X.(*ast.Ident); is && folderOf(in.file, x.Name) != "" {
			dir = folderOf(in.file, x.Name)
		}
	}
	for _, f := range s.files[dir] {
		visit(f, func(n ast.Node, where place) {
			ret, is := n.(*ast.ReturnStmt)
			if !is || len(where.funcs) != 1 || len(ret.Results) == 0 {
				return
			}
			if d, is := where.funcs[0].(*ast.FuncDecl); is && d.Name.Name == name {
				switch {
				case at < len(ret.Results):
					out = append(out, ref{ret.Results[at], where})
				default: // it returns what another function returns
					if call, is := ret.Results[0].(*ast.CallExpr); is {
						out = append(out, s.returned(call, where, at)...)
					}
				}
			}
		})
	}
	return out
}

// assigned are the values that a name has in the functions around a place: by assignment, or as a parameter.
func (s *sources) assigned(name string, in place) (out []ref, is bool) {
	for i := len(in.funcs) - 1; i >= 0; i-- {
		where := place{in.file, in.funcs[:i+1]}
		if at, count := parameter(where.funcs[i], name); at >= 0 {
			is = true
			out = append(out, s.arguments(where, at, count)...)
		}
		ast.Inspect(where.funcs[i], func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for j, left := range a.Lhs {
				if spelled(left) != name {
					continue
				}
				is = true
				if len(a.Rhs) == len(a.Lhs) {
					out = append(out, ref{a.Rhs[j], where})
				} else if call, ok := a.Rhs[0].(*ast.CallExpr); ok {
					out = append(out, s.returned(call, where, j)...)
				}
			}
			return true
		})
		if is {
			return out, true
		}
	}
	return nil, false
}

// parameter is the position of a parameter of a function, and how many there are; -1 where it has none of that name. What is variadic does not count.
func parameter(fn ast.Node, name string) (at, count int) {
	var params *ast.FieldList
	switch fn := fn.(type) {
	case *ast.FuncDecl:
		params = fn.Type.Params
	case *ast.FuncLit:
		params = fn.Type.Params
	}
	at = -1
	for _, field := range params.List {
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			continue
		}
		for _, n := range field.Names {
			if n.Name == name {
				at = count
			}
			count++
		}
	}
	return at, count
}

// arguments are those of all calls of the innermost function of a place, at a position.
func (s *sources) arguments(in place, at, count int) (out []ref) {
	name := ""
	switch fn := in.funcs[len(in.funcs)-1].(type) {
	case *ast.FuncDecl:
		name = fn.Name.Name
	case *ast.FuncLit:
		name = boundTo(in.funcs[0], fn)
	}
	for _, f := range s.files[in.file.Dir()] {
		visit(f, func(n ast.Node, where place) {
			call, is := n.(*ast.CallExpr)
			if is && name != "" && typeName(call.Fun) == name && len(call.Args) >= count {
				out = append(out, ref{call.Args[at], where})
			}
		})
	}
	return out
}

// boundTo is the variable that a function literal is assigned to.
func boundTo(outer ast.Node, fn *ast.FuncLit) (name string) {
	ast.Inspect(outer, func(n ast.Node) bool {
		if a, is := n.(*ast.AssignStmt); is && len(a.Rhs) == 1 && a.Rhs[0] == fn {
			name = spelled(a.Lhs[0])
		}
		return true
	})
	return name
}

// folderOf is the folder of the package of this repository that a file calls name; empty where it is another's.
func folderOf(f *tidy.File, name string) string {
	for _, spec := range f.Syntax.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		called := path.Base(full)
		if spec.Name != nil {
			called = spec.Name.Name
		}
		if dir, ours := strings.CutPrefix(full, tidy.Module+"/"); ours && called == name {
			return dir
		}
	}
	return ""
}
