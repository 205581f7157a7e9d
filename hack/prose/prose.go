package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// alert is one objection.
type alert struct {
	path    string
	line    int
	message string
}

// room returns the unit in which objections are counted: for a Go file the first two folders; for a page also, or the page
// itself if it is in a higher folder.
func room(file string) string {
	if path.Ext(file) == ".go" {
		file = path.Dir(file)
	}
	parts := strings.Split(file, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func count(alerts []alert) map[string]int {
	counts := map[string]int{}
	for _, a := range alerts {
		counts[room(a.path)]++
	}
	return counts
}

// exceeding returns the rooms with more objections than allowed, in order.
func exceeding(allowed, counts map[string]int) (rooms []string) {
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		if counts[r] > allowed[r] {
			rooms = append(rooms, r)
		}
	}
	return rooms
}

// lowered returns allowed with the counts that have fallen. No count rises, and a room without objections has no line.
func lowered(allowed, counts map[string]int) map[string]int {
	out := map[string]int{}
	for r, n := range allowed {
		if n = min(n, counts[r]); n > 0 {
			out[r] = n
		}
	}
	return out
}

// parse reads lines with a room and its count.
func parse(text string) (map[string]int, error) {
	allowed := map[string]int{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, number, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%q is not a room and a positive count", line)
		}
		allowed[name] = n
	}
	return allowed, nil
}

func format(allowed map[string]int) string {
	b := strings.Builder{}
	b.WriteString("# How many objections of Vale each room may have at most. Counts only fall: go run ./hack/prose -update\n")
	for _, r := range slices.Sorted(maps.Keys(allowed)) {
		fmt.Fprintf(&b, "%s %d\n", r, allowed[r])
	}
	return b.String()
}

// show prints the objections in rooms, folders or files; all objections without arguments.
func show(alerts []alert, names []string) {
	slices.SortFunc(alerts, func(a, b alert) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line)) })
	for _, a := range alerts {
		within := func(name string) bool {
			return room(a.path) == name || strings.HasPrefix(a.path, strings.TrimSuffix(name, "/"))
		}
		if len(names) == 0 || slices.ContainsFunc(names, within) {
			fmt.Printf("%s:%d: %s\n", a.path, a.line, a.message)
		}
	}
}

// literals are files with one message in each line, and the position of each message in Go.
type literals map[string][]alert

func (l literals) paths() []string { return slices.Sorted(maps.Keys(l)) }

// origin is the position in Go of a message with an objection.
func (l literals) origin(a alert) alert {
	if places := l[a.path]; len(places) >= a.line && a.line > 0 {
		a.path, a.line = places[a.line-1].path, places[a.line-1].line
	}
	return a
}

// messages writes the string literals of Go files, one per line, into a file below dir.
func messages(files []string, dir string) (literals, error) {
	name := filepath.Join(dir, "messages.txt")
	f, err := os.Create(name) //nolint:gosec // a temporary folder of this process
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, all := bufio.NewWriter(f), literals{}
	for _, file := range files {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/mutants/") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if text, ok := message(n); ok {
				fmt.Fprintln(out, text)
				all[name] = append(all[name], alert{path: file, line: set.Position(n.Pos()).Line})
			}
			return true
		})
	}
	return all, out.Flush()
}

// message returns a string literal of at least three words, in one line.
func message(n ast.Node) (string, bool) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	words := strings.Fields(text)
	return strings.Join(words, " "), err == nil && len(words) >= 3
}
