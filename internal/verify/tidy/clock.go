package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// clockRooms take the time as an argument or from a clock that the constructor was given, because the simulator runs
// them, or because deciding must give the same answer twice.
var clockRooms = []string{
	"provider",
	"internal/admission",
	"internal/engine",
	"internal/controller",
	"internal/dialect",
	"internal/operator",
	"internal/runtime/node",
	"internal/runtime/termination",
	"internal/verify/sim",
}

// wallClockRooms are inside the clock rooms and may look at the wall clock all the same.
var wallClockRooms = []string{
	"internal/verify/sim/cmd", // reports seeds per hour
	"provider/providertest",   // waits for real infrastructures, unless the harness brings a clock that it can advance
}

// wallClockFunctions of package time look at the wall clock or wait for it.
var wallClockFunctions = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}

// Clock checks that the clock rooms do not look at the wall clock. Tests are let through.
func Clock(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !withinAny(file.Dir(), clockRooms) || withinAny(file.Dir(), wallClockRooms) {
			return nil
		}
		return wallClock(file)
	})
}

func wallClock(file *File) []Violation {
	name := importName(file, "time")
	if name == "" {
		return nil
	}
	var violations []Violation
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if ok && isPackage(selector.X, name) && slices.Contains(wallClockFunctions, selector.Sel.Name) {
			violations = append(violations, file.violation(node.Pos(), "uses time.%s: take the time, or a clock, as an argument", selector.Sel.Name))
		}
		return true
	})
	return violations
}

// Seeds checks that chance in the simulator follows from its seed: the functions of math/rand that share one source, seeded by
// the runtime, are out. Tests are let through.
func Seeds(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !within(file.Dir(), "internal/verify/sim") {
			return nil
		}
		return unseeded(file)
	})
}

func unseeded(file *File) []Violation {
	name := importName(file, "math/rand/v2")
	if name == "" {
		name = importName(file, "math/rand")
	}
	if name == "" {
		return nil
	}
	var violations []Violation
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if ok && isPackage(selector.X, name) && !strings.HasPrefix(selector.Sel.Name, "New") {
			violations = append(violations, file.violation(call.Pos(), "uses rand.%s: draw from a generator made with the seed", selector.Sel.Name))
		}
		return true
	})
	return violations
}

// importName returns the name by which a file knows a package of the standard library, or nothing if it does not.
func importName(file *File, imported string) string {
	for _, spec := range file.Syntax.Imports {
		if value, err := strconv.Unquote(spec.Path.Value); err != nil || value != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(strings.TrimSuffix(imported, "/v2"))
	}
	return ""
}
