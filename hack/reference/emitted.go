package main

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// recording are the folders of the code that records events and conditions.
var recording = []string{"internal/admission", "internal/controller/", "internal/dialect/", "internal/engine/interruption", "internal/engine/controlplane", "internal/operator", "internal/program", "internal/runtime/", "serve"}

// notRecording are files that only forward events, or are about objects of others.
var notRecording = []string{"internal/dialect/dialecttest/", "internal/runtime/run/events.go", "internal/dialect/status/", "internal/operator/operands/", "internal/operator/report.go"}

// an occurrence is a place where the code records an event or a condition.
type occurrence struct {
	texts []string // the reasons of an event, the types of a condition
	kinds []string // Normal or Warning of an event, the reasons of a condition; empty where the code does not tell
	at    string
}

func load(root string) ([]*tidy.File, error) {
	files, err := tidy.Load(root)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(f *tidy.File) bool { return f.Test || strings.HasPrefix(f.Path, "hack/") }), nil
}

func records(f *tidy.File) bool {
	has := func(prefix string) bool { return strings.HasPrefix(f.Path, prefix) }
	return slices.ContainsFunc(recording, has) && !slices.ContainsFunc(notRecording, has)
}

// A pair is a reason and a type of an event, or a type and a reason of a condition, that the code records together.
type pair struct{ text, with ast.Expr }

// events returns the places that record events: calls of recorders, and values of types with the name Event.
func (s *sources) events() (out []occurrence, err error) {
	return s.find(func(n ast.Node) (out []pair) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, is := n.Fun.(*ast.SelectorExpr); is && sel.Sel.Name == "Eventf" && len(n.Args) >= 6 {
				return []pair{{n.Args[3], n.Args[2]}}
			}
		case *ast.CompositeLit:
			for _, lit := range literals(n, func(name string) bool { return name == "Event" || strings.HasSuffix(name, ".Event") }) {
				if len(lit.Elts) == 3 && keyed(lit)["Reason"] == nil { // without field names: type, reason, message
					out = append(out, pair{lit.Elts[1], lit.Elts[0]})
				} else {
					out = append(out, pair{keyed(lit)["Reason"], keyed(lit)["Type"]})
				}
			}
		}
		return out
	})
}

// conditions returns the places that write conditions: values of types whose names end with Condition.
func (s *sources) conditions() (out []occurrence, err error) {
	wished := []string{"health.Condition", "lenient.UnhealthyCondition"} // the conditions that a health check expects
	written := func(name string) bool { return strings.HasSuffix(name, "Condition") && !slices.Contains(wished, name) }
	return s.find(func(n ast.Node) (out []pair) {
		if n, is := n.(*ast.CompositeLit); is {
			for _, lit := range literals(n, written) {
				out = append(out, pair{keyed(lit)["Type"], keyed(lit)["Reason"]})
			}
		}
		return out
	})
}

// literals returns the literal, or the literals in a slice, if their type has such a name.
func literals(n *ast.CompositeLit, named func(string) bool) (out []*ast.CompositeLit) {
	if !named(spelled(elementOf(n.Type))) {
		return nil
	}
	if _, slice := n.Type.(*ast.ArrayType); !slice {
		return []*ast.CompositeLit{n}
	}
	for _, element := range n.Elts {
		if lit, is := element.(*ast.CompositeLit); is {
			out = append(out, lit)
		}
	}
	return out
}

// elementOf returns the type of the elements of a slice, or the type itself.
func elementOf(t ast.Expr) ast.Expr {
	if slice, is := t.(*ast.ArrayType); is {
		return slice.Elt
	}
	return t
}

// find follows the pairs that what returns of a node.
func (s *sources) find(what func(ast.Node) []pair) (out []occurrence, err error) {
	var problems []error
	for _, files := range s.files {
		for _, f := range files {
			if !records(f) {
				continue
			}
			visit(f, func(n ast.Node, in place) {
				for _, p := range what(n) {
					if p.text == nil {
						continue
					}
					found, err := s.together(ref{p.text, in}, ref{p.with, in})
					problems = append(problems, err)
					out = append(out, found...)
				}
			})
		}
	}
	slices.SortFunc(out, func(a, b occurrence) int { return strings.Compare(a.at, b.at) })
	return out, errors.Join(problems...)
}

// together follows two expressions of one place, of which either may be a parameter: then the arguments of one call go together.
func (s *sources) together(text, kind ref) ([]occurrence, error) {
	fn := len(text.in.funcs) - 1
	textAt, kindAt := -1, -1
	if fn >= 0 {
		textAt, _ = parameter(text.in.funcs[fn], spelled(text.expr))
		if kind.expr != nil && len(kind.in.funcs) == len(text.in.funcs) && kind.in.funcs[fn] == text.in.funcs[fn] {
			kindAt, _ = parameter(kind.in.funcs[fn], spelled(kind.expr))
		}
	}
	if textAt < 0 {
		return s.single(text, kind)
	}
	_, count := parameter(text.in.funcs[fn], "")
	var out []occurrence
	var problems []error
	texts := s.arguments(text.in, textAt, count)
	kinds := make([]ref, len(texts))
	for i := range kinds {
		kinds[i] = kind
	}
	if kindAt >= 0 {
		kinds = s.arguments(kind.in, kindAt, count)
	}
	for i := range texts {
		found, err := s.together(texts[i], kinds[i])
		out, problems = append(out, found...), append(problems, err)
	}
	return out, errors.Join(problems...)
}

func (s *sources) single(text, kind ref) ([]occurrence, error) {
	texts, err := s.texts(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spelled(text.expr), err)
	}
	o := occurrence{texts: texts, at: text.in.line(text.expr.Pos())}
	if kind.expr != nil {
		if o.kinds, err = s.texts(kind); err != nil {
			o.kinds = nil
		}
	}
	return []occurrence{o}, nil
}

// declared are the constants of a folder whose names begin with prefix, without some.
func (s *sources) declared(dir, prefix string, without ...string) (out []string) {
	for name, r := range s.constants {
		if !strings.HasPrefix(name, dir+"."+prefix) {
			continue
		}
		texts, err := s.texts(r)
		if err == nil && len(texts) == 1 && !slices.Contains(without, texts[0]) {
			out = append(out, texts[0])
		}
	}
	slices.Sort(out)
	return out
}
