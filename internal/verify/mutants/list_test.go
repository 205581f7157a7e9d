package mutants

import (
	"go/format"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/verify/sim"
	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := tidy.Here()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMutantsApply names the mutants that no longer fit a changed function. It compiles nothing.
func TestMutantsApply(t *testing.T) {
	dir := root(t)
	for _, m := range Own() {
		source, err := m.Source(dir)
		if err != nil {
			t.Errorf("%v\nits entry is in internal/verify/mutants/list_*.go: put the function's present words into From, or take it out with what it was about", err)
			continue
		}
		if formatted, err := format.Source(source); err != nil || string(formatted) != string(source) {
			t.Errorf("mutant %s: %s would not be formatted as gofmt does: %v", m.ID, m.path(), err)
		}
		if m.From == m.To {
			t.Errorf("mutant %s changes nothing", m.ID)
		}
	}
}

// TestMutantsAreToldApart: each ID names one mutant and its room, and the other fields of the mutant are valid.
func TestMutantsAreToldApart(t *testing.T) {
	dir := root(t)
	seen, changes := map[string]bool{}, map[string]string{}
	for _, m := range Own() {
		switch {
		case seen[m.ID]:
			t.Errorf("two mutants are called %s", m.ID)
		case changes[m.change()] != "":
			t.Errorf("mutants %s and %s are the same", m.ID, changes[m.change()])
		case strings.Count(m.ID, "/") != 1 || m.Note == "":
			t.Errorf("mutant %s: an ID is a room and a name, and a note says what becomes of the product", m.ID)
		case m.Statement < 0 || m.Statement > 6:
			t.Errorf("mutant %s: ARCHITECTURE.md has no safety statement %d", m.ID, m.Statement)
		}
		seen[m.ID], changes[m.change()] = true, m.ID
		if m.Finds != "" && !named(t, dir, m) {
			t.Errorf("mutant %s: no package of its room has a unit test %s", m.ID, m.Finds)
		}
	}
}

// named reports whether the unit test that the mutant names is in a package whose tests are run for the mutant.
func named(t *testing.T, dir string, m Mutant) bool {
	t.Helper()
	r := roomOf(m.Room())
	for _, pkg := range append([]string{r.dir}, r.tests...) {
		kinds, err := testsOf(filepath.Join(dir, filepath.FromSlash(pkg)))
		if err != nil {
			t.Fatal(err)
		}
		if kinds[m.Finds] == unitTest {
			return true
		}
	}
	return false
}

// TestFewSurvivorsAreExplained: few mutants may have an explanation instead of a test.
func TestFewSurvivorsAreExplained(t *testing.T) {
	own, explained := Own(), 0
	for _, m := range own {
		explained += one(m.Survives != "")
	}
	if 100*explained > (100-enough)*len(own) {
		t.Errorf("%d of %d mutants say that no test can find them; %d %% may", explained, len(own), 100-enough)
	}
}

// TestLikes: a mutant uses each setting of the simulator, and each mutant names an existing setting.
func TestLikes(t *testing.T) {
	var like []string
	for _, m := range Own() {
		if m.Like != "" {
			like = append(like, m.Like)
		}
	}
	slices.Sort(like)
	if like = slices.Compact(like); !slices.Equal(like, sim.Settings()) {
		t.Errorf("mutants name the settings %q, and the simulator has %q", like, sim.Settings())
	}
}
