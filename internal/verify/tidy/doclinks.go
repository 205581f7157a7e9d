package tidy

import (
	"go/ast"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// docLink is a name in square brackets, of this package or another, and perhaps a member, in the brackets or after them.
var docLink = regexp.MustCompile(`\[\*?(?:([a-z]\w*)\.)?([A-Z]\w+)(?:\.([A-Z]\w*))?\](?:\.([A-Z]\w*))?`)

// declared are the names of a package, with the members of its types. A type that embeds another has members that are not
// looked for: nil.
type declared map[string]map[string]bool

// DocLinks checks that what comments put in square brackets is there: a comment that kept a name after it was changed sends
// its reader looking for nothing.
func DocLinks(files []*File) []Violation {
	packages := map[string]declared{}
	for _, file := range files {
		if packages[file.Dir()] == nil {
			packages[file.Dir()] = declared{}
		}
		packages[file.Dir()].add(file.Syntax)
	}
	return each(files, func(file *File) []Violation {
		var violations []Violation
		for _, group := range file.Syntax.Comments {
			for _, link := range docLink.FindAllStringSubmatch(group.Text(), -1) {
				if !resolves(packages, file, link[1], link[2], link[3]+link[4]) {
					violations = append(violations, file.violation(group.Pos(), "refers to %s, which is not there", link[0]))
				}
			}
		}
		return violations
	})
}

// resolves reports whether a name, and its member if there is one, are declared in the package that a file calls so. What is
// in packages of others is not looked for.
func resolves(packages map[string]declared, file *File, pkg, name, member string) bool {
	dir := file.Dir()
	if pkg != "" {
		dir = imported(file.Syntax, pkg)
	}
	names, ours := packages[dir]
	if !ours {
		return true
	}
	members, is := names[name]
	return is && (member == "" || members == nil || members[member])
}

// imported is the folder of the package that a file calls name; empty where it is not of this module, or not imported.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		full, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		called := path.Base(full)
		if spec.Name != nil {
			called = spec.Name.Name
		}
		if dir, of := strings.CutPrefix(full, Module+"/"); of && called == name {
			return dir
		}
	}
	return ""
}

func (d declared) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			d.method(decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					d.of(spec.Name.Name, spec.Type)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						d[name.Name] = map[string]bool{}
					}
				}
			}
		}
	}
}

func (d declared) method(f *ast.FuncDecl) {
	if f.Recv == nil {
		d[f.Name.Name] = map[string]bool{}
		return
	}
	receiver := receiverName(f.Recv.List[0].Type)
	if members, is := d[receiver]; is && members == nil {
		return
	}
	d.member(receiver, f.Name.Name)
}

// receiverName is the type of a receiver, without its pointer and its parameters.
func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func (d declared) member(of, name string) {
	if d[of] == nil {
		d[of] = map[string]bool{}
	}
	d[of][name] = true
}

// of takes in a type with what is written between its braces.
func (d declared) of(name string, t ast.Expr) {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr: // an alias, or made of another
		d[name] = nil
		return
	}
	if d[name] == nil {
		d[name] = map[string]bool{}
	}
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			d[name] = nil
			return
		}
		for _, n := range field.Names {
			d.member(name, n.Name)
		}
	}
}
