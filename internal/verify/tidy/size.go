package tidy

import (
	"bufio"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits, in lines. What is longer can no longer be seen whole.
const (
	MaxFunctionLines = 70
	MaxFileLines     = 500
)

// MaxRatchet is the number of exceptions that the ratchet file may have. It only goes down.
const MaxRatchet = 0

// Sizes measures what is over the limits: the key is "path" for a file and "path function" for a function, the value its
// lines. Generated files are not measured. In tests the lines inside a literal do not count for the function: tables are data.
func Sizes(files []*File) map[string]int {
	over := map[string]int{}
	for _, file := range files {
		if file.Generated {
			continue
		}
		if file.Lines > MaxFileLines {
			over[file.Path] = file.Lines
		}
		for _, decl := range file.Syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			if lines := functionLines(file, function); lines > MaxFunctionLines {
				over[file.Path+" "+FunctionName(function)] = lines
			}
		}
	}
	return over
}

func functionLines(file *File, function *ast.FuncDecl) int {
	lines := spanned(file, function) + 1
	if !file.Test {
		return lines
	}
	ast.Inspect(function, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if ok {
			lines -= spanned(file, literal)
		}
		return !ok
	})
	return lines
}

// spanned is the number of line ends inside a node.
func spanned(file *File, node ast.Node) int {
	return file.Positions.Position(node.End()).Line - file.Positions.Position(node.Pos()).Line
}

// FunctionName is Name, or Receiver.Name for a method.
func FunctionName(function *ast.FuncDecl) string {
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return function.Name.Name
	}
	receiver := function.Recv.List[0].Type
	for {
		switch inner := receiver.(type) {
		case *ast.StarExpr:
			receiver = inner.X
		case *ast.IndexExpr:
			receiver = inner.X
		case *ast.IndexListExpr:
			receiver = inner.X
		case *ast.Ident:
			return inner.Name + "." + function.Name.Name
		default:
			return function.Name.Name
		}
	}
}

// Ratchet compares what is over the limits with the exceptions that are let through. An exception holds for exactly its
// lines: what has grown is a violation, and what has shrunk must be written down, so that it stays small.
func Ratchet(over, exceptions map[string]int) []Violation {
	var violations []Violation
	for _, key := range slices.Sorted(maps.Keys(over)) {
		lines, limit := over[key], MaxFunctionLines
		if !strings.Contains(key, " ") {
			limit = MaxFileLines
		}
		allowed, excepted := exceptions[key]
		switch {
		case !excepted:
			violations = append(violations, Violation{key, fmt.Sprintf("has %d lines, the limit is %d: split it by concern", lines, limit)})
		case lines > allowed:
			violations = append(violations, Violation{key, fmt.Sprintf("has grown to %d lines from %d, and is over the limit of %d: split it", lines, allowed, limit)})
		case lines < allowed:
			violations = append(violations, Violation{key, fmt.Sprintf("has shrunk to %d lines: write that into the ratchet file", lines)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(exceptions)) {
		if _, still := over[key]; !still {
			violations = append(violations, Violation{key, "is within the limits now, or gone: take it out of the ratchet file"})
		}
	}
	if len(exceptions) > MaxRatchet {
		violations = append(violations, Violation{"ratchet.txt", fmt.Sprintf("has %d exceptions, and may have %d", len(exceptions), MaxRatchet)})
	}
	return violations
}

// ParseRatchet reads a ratchet file: a line has the key as Sizes makes it, and the lines. Lines that begin with # are
// comments.
func ParseRatchet(text string) (map[string]int, error) {
	exceptions := map[string]int{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("reading the ratchet file: %q has no number of lines", line)
		}
		lines, err := strconv.Atoi(line[cut+1:])
		if err != nil {
			return nil, fmt.Errorf("reading the number of lines in %q of the ratchet file: %w", line, err)
		}
		exceptions[line[:cut]] = lines
	}
	return exceptions, scanner.Err()
}
