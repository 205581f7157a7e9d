package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reasonsOf are the reasons that a package declares.
func reasonsOf(t *testing.T, file string) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			word, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, word)
		}
		return true
	})
	return out
}

// TestEveryReasonHasAdvice: every reason of a machine's controller has a text for users.
func TestEveryReasonHasAdvice(t *testing.T) {
	all := reasonsOf(t, filepath.Join("..", "lifecycle", "decide.go"))
	if len(all) < 40 {
		t.Fatalf("found %d reasons, which cannot be all", len(all))
	}
	for _, r := range all {
		if reasons[r].text == "" && reasons[r+"/Deleting"].text == "" {
			t.Errorf("reason %s has no advice", r)
		}
	}
}

// TestAdviceIsWhole: each entry has a state, texts without a full stop at the end, and a fitting state:
// machines under deletion are called so.
func TestAdviceIsWhole(t *testing.T) {
	states := []State{Healthy, Progressing, Waiting, Degraded, Failed, Deleting, Stuck, Gone, Unknown, Ambiguous}
	for key, a := range reasons {
		if !slices.Contains(states, a.state) || a.text == "" || a.next == "" || strings.HasSuffix(a.text, ".") || strings.HasSuffix(a.next, ".") {
			t.Errorf("%s: incomplete: %+v", key, a)
		}
		if going := strings.HasPrefix(a.text, "{going}"); going && a.state != Deleting && a.state != Stuck {
			t.Errorf("%s: %s on the way out", key, a.state)
		}
		if reasons[reasonOf(key)].text == "" && !strings.Contains(key, "/") {
			t.Errorf("%s: no entry of its own", key)
		}
		if strings.Count(a.text+a.next, "{") != strings.Count(a.text+a.next, "}") {
			t.Errorf("%s: braces: %+v", key, a)
		}
	}
}

// TestDocument: the page in docs equals the program's table.
func TestDocument(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "reasons.md")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(Document()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Document() {
		t.Errorf("%s is not what the table says: UPDATE_GOLDEN=1 go test ./internal/engine/explain", file)
	}
}
