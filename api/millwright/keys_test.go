package millwright_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/api/millwright"
)

// most is how many keys there may be. A key is API: the number only falls. The guard of growth, which is the other half of that
// of deletions, brought three, the move between the APIs one: no other key makes a controller leave an instance alone.
const most = 59

// TestKeysAreFew counts them.
func TestKeysAreFew(t *testing.T) {
	switch n := len(millwright.Keys()); {
	case n > most:
		t.Errorf("%d keys: there may be %d, and a new one takes the place of another", n, most)
	case n < most:
		t.Errorf("%d keys are left of %d: write that down here", n, most)
	}
}

// TestEveryConstantIsAKey holds the catalogue to the constants.
func TestEveryConstantIsAKey(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants, names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			constants = append(constants, value)
		}
		return true
	})
	for _, k := range millwright.Keys() {
		names = append(names, k.Name)
	}
	slices.Sort(constants)
	slices.Sort(names)
	if !slices.Equal(constants, names) {
		t.Errorf("constants and catalogue differ:\n%v\n%v", constants, names)
	}
	if len(slices.Compact(names)) != len(constants) {
		t.Error("a key is there twice")
	}
}

func TestKeysAreDescribed(t *testing.T) {
	forms := []millwright.Form{
		millwright.Switch, millwright.Duration, millwright.PositiveDuration, millwright.Count, millwright.Percentage, millwright.CountOrPercentage,
		millwright.Integer, millwright.Word, millwright.Time, millwright.List, millwright.Approval, millwright.Bound, millwright.JSON, millwright.Text,
	}
	for _, k := range millwright.Keys() {
		switch {
		case !strings.HasPrefix(k.Name, millwright.Prefix):
			t.Errorf("%s is not ours", k.Name)
		case len(k.On) == 0 || k.Want == "" || k.Default == "" || k.Meaning == "":
			t.Errorf("%s lacks a description", k.Name)
		case !slices.Contains(forms, k.Form):
			t.Errorf("%s: %q is no form", k.Name, k.Form)
		case (k.Form == millwright.Word) != (len(k.Words) > 0) && k.Name != millwright.DrainTimeout:
			t.Errorf("%s: words and the form Word belong together", k.Name)
		case !slices.Contains([]millwright.Author{millwright.Person, millwright.Controller, millwright.Either}, k.By):
			t.Errorf("%s: %q writes nothing", k.Name, k.By)
		}
	}
}
