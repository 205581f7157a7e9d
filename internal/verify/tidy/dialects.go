package tidy

import (
	"go/ast"
	"path"
)

// dialectRoom has the lenses, their interfaces and the table of APIs.
const dialectRoom = "internal/dialect"

// resolverFile is the only file of a lens that may read from an API server.
const resolverFile = "resolver.go"

// Lenses checks that lenses do no I/O: in a package of them, contexts and clients are in the file of its resolver.
func Lenses(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !within(file.Dir(), dialectRoom) || path.Base(file.Path) == resolverFile {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			switch {
			case !ok:
			case isPackage(sel.X, "context") && sel.Sel.Name == "Context", isPackage(sel.X, "client") && isClient(sel.Sel.Name):
				violations = append(violations, file.violation(node.Pos(), "a lens uses %s: I/O belongs into %s", sel.Sel.Name, resolverFile))
			}
			return true
		})
		return violations
	})
}

// isClient reports whether a name of controller-runtime's package client is one that reads or writes.
func isClient(name string) bool {
	switch name {
	case "Reader", "Writer", "StatusWriter", "Client", "WithWatch":
		return true
	}
	return false
}
