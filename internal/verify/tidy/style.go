package tidy

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// PackageDocs checks that every package says what it is for, in a comment that begins "Package <name>", or "Command ..." for a
// command. Packages that consist of tests only may do without.
func PackageDocs(files []*File) []Violation {
	undocumented := map[string]*File{}
	documented := map[string]bool{}
	for _, file := range files {
		if file.Test {
			continue
		}
		if documents(file) {
			documented[file.Dir()] = true
		} else if undocumented[file.Dir()] == nil {
			undocumented[file.Dir()] = file
		}
	}
	var violations []Violation
	for _, dir := range slices.Sorted(maps.Keys(undocumented)) {
		if !documented[dir] {
			file := undocumented[dir]
			violations = append(violations, file.violation(file.Syntax.Package, "no file of the package has a comment that says what it is for"))
		}
	}
	return violations
}

func documents(file *File) bool {
	prefix := "Package " + file.Syntax.Name.Name + " "
	if file.Syntax.Name.Name == "main" {
		prefix = "Command "
	}
	return file.Syntax.Doc != nil && strings.HasPrefix(file.Syntax.Doc.Text(), prefix)
}

var (
	unfinished = regexp.MustCompile(`\b(` + "TO" + `DO|FIX` + `ME|XXX)\b`)
	banner     = regexp.MustCompile(`^//\s*[-=*#~]{4,}`)
	bareNolint = regexp.MustCompile(`^//nolint(:[a-z,]+)?\s*$`)
)

// Comments checks that no comment promises work instead of it being done, draws a banner, or silences a linter without
// saying why.
func Comments(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		var violations []Violation
		for _, group := range file.Syntax.Comments {
			for _, comment := range group.List {
				if why := objection(comment.Text); why != "" && !file.Generated {
					violations = append(violations, file.violation(comment.Pos(), "%s", why))
				}
			}
		}
		return violations
	})
}

func objection(comment string) string {
	switch {
	case unfinished.MatchString(comment):
		return "a comment leaves work undone: do it, or write it into docs/contributing/gaps.md"
	case banner.MatchString(comment):
		return "a comment is a banner: split the file instead"
	case bareNolint.MatchString(comment):
		return "a linter is silenced without a reason: //nolint:name // reason"
	}
	return ""
}

// Wiring checks that nothing is registered behind the reader's back: no init functions outside of generated files and tests.
func Wiring(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Generated || file.Test {
			return nil
		}
		var violations []Violation
		for _, decl := range file.Syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.Name == "init" {
				violations = append(violations, file.violation(function.Pos(), "has an init function: wire explicitly"))
			}
		}
		return violations
	})
}
