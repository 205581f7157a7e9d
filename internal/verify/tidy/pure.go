package tidy

import (
	"go/ast"
	"regexp"
	"strings"
	"unicode"
)

// dialectNames are words that only code about one API may use in its identifiers.
var dialectNames = []string{"openshift", "gardener", "mapi", "mcm", "sapcloud"}

// networking matches the functions of package net that do more than parse and compare addresses.
var networking = regexp.MustCompile(`^(Dial|Listen|Lookup|Resolve|Interface)`)

// Purity checks what imports do not show: in the pure rooms nothing starts a goroutine, writes to the terminal, uses the network, or is named
// for one of the two APIs. Tests are let through.
func Purity(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !within(file.Dir(), Pure) {
			return nil
		}
		return impurities(file)
	})
}

func impurities(file *File) []Violation {
	var violations []Violation
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GoStmt:
			violations = append(violations, file.violation(node.Pos(), "starts a goroutine: a decision is computed where it is asked for"))
		case *ast.SendStmt, *ast.SelectStmt:
			violations = append(violations, file.violation(node.Pos(), "uses a channel: a decision does not wait"))
		case *ast.SelectorExpr:
			if isPackage(node.X, "fmt") && strings.HasPrefix(node.Sel.Name, "Print") {
				violations = append(violations, file.violation(node.Pos(), "prints: return a reason instead"))
			}
			if isPackage(node.X, "net") && networking.MatchString(node.Sel.Name) {
				violations = append(violations, file.violation(node.Pos(), "uses the network: pass the facts in"))
			}
		case *ast.CallExpr:
			if isPackage(node.Fun, "println") || isPackage(node.Fun, "print") {
				violations = append(violations, file.violation(node.Pos(), "prints: return a reason instead"))
			}
		case *ast.Ident:
			if name := dialectName(node.Name); name != "" {
				violations = append(violations, file.violation(node.Pos(), "%s names the dialect %s: name the behaviour", node.Name, name))
			}
		}
		return true
	})
	return violations
}

// isPackage reports whether an expression is the bare name of a package or of a predeclared function.
func isPackage(expr ast.Expr, name string) bool {
	ident, ok := expr.(*ast.Ident)
	return ok && ident.Name == name
}

// dialectName returns the dialect's name among the words of an identifier, or nothing. Words are compared whole, so that
// mapIndex is not about mapi; two neighbours are compared joined as well, because openShift is about openshift.
func dialectName(identifier string) string {
	list := words(identifier)
	for i, word := range list {
		for _, name := range dialectNames {
			if word == name || i > 0 && list[i-1]+word == name {
				return name
			}
		}
	}
	return ""
}

// words splits an identifier at capitals and underscores, and lowers the words: MCMFinalizer is mcm and finalizer.
func words(identifier string) []string {
	runes := []rune(identifier)
	var list []string
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !begins(runes, i) {
			continue
		}
		if word := strings.Trim(string(runes[start:i]), "_"); word != "" {
			list = append(list, strings.ToLower(word))
		}
		start = i
	}
	return list
}

// begins reports whether a word begins at index i > 0: at a capital after a small letter, at the last capital of a run
// that a small letter follows, and at an underscore.
func begins(runes []rune, i int) bool {
	if runes[i] == '_' || runes[i-1] == '_' {
		return true
	}
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}
