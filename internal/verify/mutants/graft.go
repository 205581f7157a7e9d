package mutants

import (
	"encoding/json"
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

// numberEnv selects the mutant in a program with many mutants; without it, the program is the product without a defect.
const numberEnv = "MILLWRIGHT_MUTANT"

// graft puts many mutants into one program, because compiling takes most of the time. Each mutant has a copy of its function,
// which the function calls instead if the program selects that mutant.
type graft struct {
	root string
	// numbers are the numbers of mutants, from 1, by ID.
	numbers map[string]int
	// sources are the changed files, and one more file in each of their folders, by path relative to root.
	sources map[string]string
	// copies are the mutants of the lines at the end of a changed file.
	copies map[string][]copied
	// written are the paths of the sources, by the file to which each was written.
	written map[string]string
}

type copied struct {
	id       string
	from, to int
}

// newGraft includes the mutants of the list that are not in dead.
func newGraft(root string, list []Mutant, dead map[string]string) (*graft, error) {
	g := &graft{root: root, numbers: map[string]int{}, sources: map[string]string{}, copies: map[string][]copied{}, written: map[string]string{}}
	byFile := map[string][]Mutant{}
	for n, m := range list {
		g.numbers[m.ID] = n + 1
		if _, is := dead[m.ID]; is {
			continue
		}
		if _, err := m.Source(root); err != nil {
			return nil, err
		}
		byFile[m.path()] = append(byFile[m.path()], m)
	}
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		if err := g.file(name, byFile[name]); err != nil {
			return nil, fmt.Errorf("putting mutants into %s: %w", name, err)
		}
	}
	return g, nil
}

// common is the code that the grafted files of a package share.
const common = `package %s

import (
	"os"
	"strconv"
)

var mutant__ = func() int { n, _ := strconv.Atoi(os.Getenv("` + numberEnv + `")); return n }()

func pick__[T any](n int, mutated, sound T) T {
	if mutant__ == n {
		return mutated
	}
	return sound
}
`

func (g *graft) file(name string, list []Mutant) error {
	source, err := os.ReadFile(filepath.Join(g.root, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	f := &grafted{source: string(source), positions: token.NewFileSet()}
	if f.syntax, err = parser.ParseFile(f.positions, name, source, parser.SkipObjectResolution); err != nil {
		return err
	}
	byDecl := map[string][]Mutant{}
	for _, m := range list {
		byDecl[m.Func] = append(byDecl[m.Func], m)
	}
	for _, decl := range slices.Sorted(maps.Keys(byDecl)) {
		switch node := declaration(f.syntax, decl).(type) {
		case *ast.FuncDecl:
			err = f.function(node, byDecl[decl], g.numbers)
		case *ast.ValueSpec:
			err = f.variable(node, byDecl[decl], g.numbers)
		default:
			err = fmt.Errorf("mutant %s: %s is no function and no variable", byDecl[decl][0].ID, decl)
		}
		if err != nil {
			return err
		}
	}
	text := f.edited()
	for _, c := range f.copies {
		from := strings.Count(text, "\n") + 1
		text += c.text + "\n"
		g.copies[name] = append(g.copies[name], copied{c.id, from, strings.Count(text, "\n")})
	}
	g.sources[name] = text
	g.sources[path.Join(path.Dir(name), "zz_mutants.go")] = fmt.Sprintf(common, f.syntax.Name.Name)
	return nil
}

// grafted is a file with its mutants.
type grafted struct {
	source    string
	syntax    *ast.File
	positions *token.FileSet
	edits     []edit
	copies    []struct{ id, text string }
}

// edit replaces a span by text.
type edit struct {
	span
	text string
}

func (f *grafted) offset(p token.Pos) int { return f.positions.Position(p).Offset }

func (f *grafted) edited() string {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return b.from - a.from })
	text := f.source
	for _, e := range f.edits {
		text = text[:e.from] + e.text + text[e.to:]
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// within returns a part of the file with the mutant's change.
func (f *grafted) within(m Mutant, from, to token.Pos) (string, error) {
	at := m.at
	if at == nil {
		var err error
		if at, err = m.find([]byte(f.source)); err != nil {
			return "", err
		}
	}
	begin, end := f.offset(from), f.offset(to)
	if at.from < begin || at.to > end {
		return "", fmt.Errorf("mutant %s: what it changes is not in the body of %s", m.ID, m.Func)
	}
	return f.source[begin:at.from] + m.To + f.source[at.to:end], nil
}

// variable makes the variable choose between its values.
func (f *grafted) variable(spec *ast.ValueSpec, list []Mutant, numbers map[string]int) error {
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		return fmt.Errorf("mutant %s: %s is not one variable with a value", list[0].ID, list[0].Func)
	}
	value := spec.Values[0]
	text := f.source[f.offset(value.Pos()):f.offset(value.End())]
	for _, m := range list {
		mutated, err := f.within(m, value.Pos(), value.End())
		if err != nil {
			return err
		}
		text = fmt.Sprintf("pick__(%d, %s, %s)", numbers[m.ID], mutated, text)
	}
	f.edits = append(f.edits, edit{span{f.offset(value.Pos()), f.offset(value.End())}, text})
	return nil
}

// function makes the function call the copy of the selected mutant.
func (f *grafted) function(decl *ast.FuncDecl, list []Mutant, numbers map[string]int) error {
	begin := f.offset(decl.Type.Pos())
	args := f.arguments(decl.Type.Params)
	callee := ""
	if decl.Recv != nil {
		callee = f.arguments(decl.Recv)[0] + "."
	}
	types := ""
	if t := decl.Type.TypeParams; t != nil {
		var names []string
		for _, field := range t.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		types = "[" + strings.Join(names, ", ") + "]"
	}
	var calls strings.Builder
	for _, m := range list {
		body, err := f.within(m, decl.Body.Pos(), decl.Body.End())
		if err != nil {
			return err
		}
		name := decl.Name.Name + "__" + strconv.Itoa(numbers[m.ID])
		text := f.source[begin:f.offset(decl.Name.Pos())] + name + f.source[f.offset(decl.Name.End()):f.offset(decl.Body.Pos())] + body
		f.copies = append(f.copies, struct{ id, text string }{m.ID, text})
		call := fmt.Sprintf("%s%s%s(%s)", callee, name, types, strings.Join(args, ", "))
		if decl.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		fmt.Fprintf(&calls, " if mutant__ == %d { %s };", numbers[m.ID], call)
	}
	at := f.offset(decl.Body.Lbrace) + 1
	f.edits = append(f.edits, edit{span{at, at}, calls.String()})
	return nil
}

// arguments are the names of parameters, as arguments. Parameters without a name get one.
func (f *grafted) arguments(params *ast.FieldList) (args []string) {
	for _, field := range params.List {
		dots := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		if len(field.Names) == 0 {
			name := "unnamed" + strconv.Itoa(f.offset(field.Pos()))
			at := f.offset(field.Type.Pos())
			f.edits = append(f.edits, edit{span{at, at}, name + " "})
			args = append(args, name+dots)
		}
		for _, n := range field.Names {
			name := n.Name
			if name == "_" {
				name = "unnamed" + strconv.Itoa(f.offset(n.Pos()))
				f.edits = append(f.edits, edit{span{f.offset(n.Pos()), f.offset(n.End())}, name})
			}
			args = append(args, name+dots)
		}
	}
	return args
}

// write writes the sources to a folder and returns the name of the file for `-overlay`.
func (g *graft) write(folder string) (string, error) {
	replace := map[string]string{}
	for n, name := range slices.Sorted(maps.Keys(g.sources)) {
		file := filepath.Join(folder, strconv.Itoa(n)+".go")
		if err := os.WriteFile(file, []byte(g.sources[name]), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(g.root, filepath.FromSlash(name))] = file
		g.written[file] = name
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	return list, os.WriteFile(list, raw, 0o600)
}
