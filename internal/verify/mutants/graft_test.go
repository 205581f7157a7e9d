package mutants

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const shapes = `package expect

import "context"

type pass[M any] struct{ m M }

func (pass[M]) unnamed(context.Context, int) (n int, err error) { return 1, nil }

func (p *pass[M]) variadic(_ context.Context, more ...string) { p.m = *new(M) }

func generic[K comparable, V any](m map[K]V, k K) V { return m[k] }

var table, other = 1, 2

const limit = 3
`

// TestGraft: functions of each shape call the copy, and the numbers of lines do not change.
func TestGraft(t *testing.T) {
	dir := moduleOf(t, map[string]string{"internal/controller/expectations/a.go": shapes})
	list := []Mutant{
		{ID: "expectations/a", Func: "pass.unnamed", From: "1, nil", To: "2, nil"},
		{ID: "expectations/b", Func: "pass.variadic", From: "p.m =", To: "_ ="},
		{ID: "expectations/c", Func: "generic", From: "m[k]", To: "*new(V)"},
		{ID: "expectations/d", Func: "generic", From: "return", To: "_ = k; return"},
		{ID: "expectations/dead", Func: "generic", From: "m[k]", To: "k"},
	}
	for n := range list {
		list[n].File = "a.go"
	}
	g, err := newGraft(dir, list, map[string]string{"expectations/dead": "it does not compile"})
	if err != nil {
		t.Fatal(err)
	}
	text := g.sources["internal/controller/expectations/a.go"]
	if _, err := parser.ParseFile(token.NewFileSet(), "a.go", text, 0); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, want := range []string{
		"if mutant__ == 1 { return unnamed",
		".unnamed__1(unnamed",
		"if mutant__ == 2 { p.variadic__2(unnamed",
		", more...); return };",
		"if mutant__ == 3 { return generic__3[K, V](m, k) }; if mutant__ == 4 { return generic__4[K, V](m, k) };",
		"func generic__3[K comparable, V any](m map[K]V, k K) V { return *new(V) }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "__5") {
		t.Error("the graft includes a mutant that does not compile")
	}
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[10], "func generic[K") {
		t.Errorf("the lines have moved:\n%s", text)
	}
	for _, m := range []Mutant{
		{ID: "expectations/two", File: "a.go", Func: "table", From: "1", To: "4"},
		{ID: "expectations/const", File: "a.go", Func: "limit", From: "limit", To: "most"},
		{ID: "expectations/signature", File: "a.go", Func: "generic", From: "k K", To: "k V"},
	} {
		if _, err := newGraft(dir, []Mutant{m}, nil); err == nil || !strings.Contains(err.Error(), m.ID) {
			t.Errorf("mutant %s: got error %v", m.ID, err)
		}
	}
}
