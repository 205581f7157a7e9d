package mutants

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// Generate creates mutants of standard kinds in a room's folder and chooses at most `most` of them. The same seed chooses the
// same mutants from the same sources.
func Generate(root, name string, seed uint64, most int) ([]Mutant, error) {
	r := roomOf(name)
	if r.dir == "" {
		return nil, fmt.Errorf("there is no room %s", name)
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(r.dir), "*.go"))
	if err != nil {
		return nil, err
	}
	g := generator{root: root, constants: map[string]groups{}}
	var all []Mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		made, err := g.file(r, filepath.Base(file))
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	h := fnv.New64a()
	h.Write([]byte(r.dir))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), most)]
	slices.SortFunc(all, func(a, b Mutant) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// generator walks files and collects mutants.
type generator struct {
	root string
	// constants are the constants of each folder that was read.
	constants map[string]groups

	room      room
	name      string
	source    []byte
	syntax    *ast.File
	positions *token.FileSet
	in        string
	made      []Mutant
}

func (g *generator) file(r room, name string) ([]Mutant, error) {
	g.room, g.name, g.made, g.positions = r, name, nil, token.NewFileSet()
	var err error
	file := filepath.Join(g.root, filepath.FromSlash(r.dir), name)
	if g.source, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	if g.syntax, err = parser.ParseFile(g.positions, file, g.source, parser.SkipObjectResolution|parser.ParseComments); err != nil {
		return nil, err
	}
	if ast.IsGenerated(g.syntax) {
		return nil, nil
	}
	for _, decl := range g.syntax.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			g.in = tidy.FunctionName(f)
			ast.Inspect(f.Body, g.visit)
		}
	}
	return g.made, nil
}

// visit is called for each node of a function.
func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		g.condition(n)
	case *ast.BinaryExpr:
		g.operator(n)
	case *ast.ExprStmt:
		g.call(n)
	case *ast.AssignStmt:
		g.assignment(n)
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			g.words(result)
		}
	case *ast.KeyValueExpr:
		g.word(n.Value)
	}
	return true
}

// add creates a mutant that replaces a part of the file.
func (g *generator) add(what string, from, to token.Pos, text string) {
	at := span{g.positions.Position(from).Offset, g.positions.Position(to).Offset}
	place := g.positions.Position(from)
	g.made = append(g.made, Mutant{
		ID:   fmt.Sprintf("%s/%s:%d:%d %s", g.room.name, strings.TrimSuffix(g.name, ".go"), place.Line, place.Column, what),
		File: g.name, Func: g.in, From: string(g.source[at.from:at.to]), To: text, at: &at, Note: what,
	})
}

func (g *generator) text(n ast.Node) string {
	return string(g.source[g.positions.Position(n.Pos()).Offset:g.positions.Position(n.End()).Offset])
}

// condition negates the condition; if the body only leaves, it makes it always false.
func (g *generator) condition(n *ast.IfStmt) {
	cond := g.text(n.Cond)
	g.add("negated", n.Cond.Pos(), n.Cond.End(), "!("+cond+")")
	if n.Else == nil && len(n.Body.List) > 0 {
		switch n.Body.List[len(n.Body.List)-1].(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			g.add("never leaves", n.Cond.Pos(), n.Cond.End(), "false && ("+cond+")")
		}
	}
}

// operators are the replacements of operators.
var operators = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD,
}

func (g *generator) operator(n *ast.BinaryExpr) {
	other, ok := operators[n.Op]
	if !ok || n.Op == token.ADD && (isText(n.X) || isText(n.Y)) {
		return
	}
	g.add(n.Op.String()+" to "+other.String(), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
}

// isText reports whether an expression is certainly a string: strings have no difference.
func isText(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return isText(e.X) || isText(e.Y)
	}
	return false
}

// unharmed are calls that are kept: without them a test runs for ever, or nothing changes.
var unharmed = []string{"Lock", "Unlock", "RLock", "RUnlock", "Helper", "panic", "Error", "Info", "V", "Done", "Add"}

// call leaves out a call. The mutant still uses the names in it, so that the rest compiles.
func (g *generator) call(n *ast.ExprStmt) {
	call, ok := n.X.(*ast.CallExpr)
	if !ok {
		return
	}
	name := ""
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		name = fun.Sel.Name
	}
	if name != "" && !slices.Contains(unharmed, name) {
		g.add("no "+name, n.Pos(), n.End(), "if false {\n"+g.text(n)+"\n}")
	}
}

// assignment leaves out an assignment to a field.
func (g *generator) assignment(n *ast.AssignStmt) {
	if n.Tok != token.ASSIGN || len(n.Lhs) != 1 {
		return
	}
	if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok {
		g.add(field.Sel.Name+" not set", n.Pos(), n.End(), "if false {\n"+g.text(n)+"\n}")
	}
}
