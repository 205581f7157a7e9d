package tidy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// keysRoom declares every key of ours.
const keysRoom = "api/millwright"

// keyPrefix begins every annotation, label, taint and index key of this project.
const keyPrefix = "millwright.dev/"

// indexes are names of field indexes in caches: no object carries them.
var indexes = []string{"millwright.dev/deployment-uid", "millwright.dev/node-name", "millwright.dev/controller-uid"}

// Keys checks that what is shipped spells no key of ours outside of the package that lists and explains them. Providers are
// exempt, with their shared packages: their tags are on instances, and packages that judge the product have names of their own.
func Keys(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || file.Generated || !withinAny(file.Dir(), shipped) || withinAny(file.Dir(), []string{keysRoom, "providers", "provider/kubeapi"}) {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if key := keyOf(node); key != "" && !slices.Contains(indexes, key) {
				violations = append(violations, file.violation(node.Pos(), "spells the key %s: use its constant of %s", key, keysRoom))
			}
			return true
		})
		return violations
	})
}

// keyOf is the key that a string literal is; empty for any other node.
func keyOf(node ast.Node) string {
	literal, ok := node.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil || value == keyPrefix || !strings.HasPrefix(value, keyPrefix) {
		return ""
	}
	return value
}
