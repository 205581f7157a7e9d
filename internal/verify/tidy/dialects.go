package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
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

// apiFiles may name an API or import its lens. They are the table of APIs, what reads the words that objects of each have
// about themselves, and the rows of the two programs that make controllers for the types of each: what a further API adds to.
var apiFiles = []string{
	"internal/dialect/apis/apis.go", "internal/dialect/status/status.go",
	"serve/apis.go", "cmd/machine-controller-manager/apis.go",
}

// apiRooms are about single APIs: their types, their lenses, how a provider spells its specs in each, and what proves all that.
var apiRooms = []string{"api", "internal/dialect/openshift", "internal/dialect/gardener", "provider", "providers", "internal/verify", "test"}

// groups are the names of the APIs, in constants and in text.
var (
	groupNames = []string{"OpenShift", "Gardener"}
	groupTexts = []string{"machine.openshift.io", "machine.sapcloud.io", "openshift", "gardener"}
)

// APIs checks that nothing else is wired for one API by its name: whoever needs to know the APIs ranges over their table.
func APIs(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || withinAny(file.Dir(), apiRooms) || slices.Contains(apiFiles, file.Path) {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if name := namesAPI(node); name != "" {
				violations = append(violations, file.violation(node.Pos(), "names %s: range over the table of internal/dialect/apis, or ask it", name))
			}
			return true
		})
		return violations
	})
}

// namesAPI is what a node says of one API: its lens, its constant, or its name in text; empty when nothing.
func namesAPI(node ast.Node) string {
	switch node := node.(type) {
	case *ast.SelectorExpr:
		if isPackage(node.X, "provider") && slices.Contains(groupNames, node.Sel.Name) {
			return "provider." + node.Sel.Name
		}
	case *ast.BasicLit:
		text, err := strconv.Unquote(node.Value)
		if err != nil || node.Kind != token.STRING {
			return ""
		}
		if lens, is := strings.CutPrefix(text, Module+"/"); is && withinAny(lens, []string{"internal/dialect/openshift", "internal/dialect/gardener"}) {
			return "the package " + lens
		}
		if slices.Contains(groupTexts, text) {
			return text
		}
	}
	return ""
}
