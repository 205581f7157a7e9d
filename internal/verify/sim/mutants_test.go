package sim

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestMutantsAreFound proves that the checks can fail: a limited number of worlds finds
// every defect. The test first tries the world that found the defect before; if that world
// finds nothing, it tries all. UPDATE_GOLDEN=1 writes down which worlds find which defects.
func TestMutantsAreFound(t *testing.T) {
	const most = 1000
	known, finders := readFinders(t), &finders{}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		t.Cleanup(func() { finders.write(t) })
	}
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			dialects := m.Dialects
			if len(dialects) == 0 {
				dialects = []string{OpenShift, Gardener}
			}
			for _, dialect := range dialects {
				seed, found := known[dialect+" "+m.Name]
				statement := ""
				if found {
					statement = finds(seed, dialect, &m)
				}
				if statement == "" {
					seed, statement = hunt(dialect, &m, most)
				}
				if statement == "" {
					t.Errorf("%s: not found in %d worlds", dialect, most)
					continue
				}
				finders.add(dialect+" "+m.Name, seed)
				t.Logf("%s: found by seed %d: %s", dialect, seed, statement)
			}
		})
	}
}

// findersFile has a line for each mutant and dialect: the seed of a world that finds it, the dialect, the name.
const findersFile = "testdata/finders.txt"

// readFinders returns seeds by dialect and name.
func readFinders(t *testing.T) map[string]uint64 {
	t.Helper()
	raw, err := os.ReadFile(findersFile)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]uint64{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		seed, name, _ := strings.Cut(line, " ")
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", findersFile, err)
		}
		known[name] = n
	}
	return known
}

// finders collects lines of the file.
type finders struct {
	mu    sync.Mutex
	lines []string
}

func (f *finders) add(name string, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fmt.Sprintf("%d %s\n", seed, name))
}

func (f *finders) write(t *testing.T) {
	t.Helper()
	slices.SortFunc(f.lines, func(a, b string) int { return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):]) })
	if err := os.WriteFile(findersFile, []byte(strings.Join(f.lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFindersExist: all names in the file are mutants.
func TestFindersExist(t *testing.T) {
	for name := range readFinders(t) {
		_, mutant, _ := strings.Cut(name, " ")
		if !slices.ContainsFunc(Mutants(), func(m Mutation) bool { return m.Name == mutant }) {
			t.Errorf("%s: there is no mutant %q", findersFile, mutant)
		}
	}
}

// rare is the seed at which the hunt for a mutant begins, by dialect, if the first world that shows the defect has a high
// seed. This only saves the worlds before that seed.
var rare = map[string]map[string]uint64{
	"a node is whose it says that it is":                                       {OpenShift: 592},
	"a node belongs to whatever machine has its name":                          {Both: 21190},
	"an instance is known by its UID alone":                                    {OpenShift: 414},
	"an API server that is out has no machines, and all instances are orphans": {OpenShift: 150},
	"an instance is asked for whoever has its interface":                       {OpenShift: 18, Gardener: 18},
}

func TestRareMutantsExist(t *testing.T) {
	for name := range rare {
		if !slices.ContainsFunc(Mutants(), func(m Mutation) bool { return m.Name == name }) {
			t.Errorf("there is no mutant %q", name)
		}
	}
}

// hunt returns the first seed that finds the defect, and the broken statement.
func hunt(dialect string, m *Mutation, most uint64) (uint64, string) {
	for n := range most {
		seed := rare[m.Name][dialect] + n
		if statement := finds(seed, dialect, m); statement != "" {
			return seed, statement
		}
	}
	return 0, ""
}

// finds returns the statement that the defect breaks in a world. A world that
// breaks the statement without the defect finds nothing.
func finds(seed uint64, dialect string, m *Mutation) string {
	r := Run(seed, Options{Dialect: dialect, Mutation: m})
	if r.Violation == nil || !slices.Contains(m.Finds, r.Violation.Statement) {
		return ""
	}
	sound := Run(seed, Options{Dialect: dialect, Mutation: &Mutation{Setting: m.Setting}})
	if sound.Violation == nil || sound.Violation.Statement != r.Violation.Statement {
		return r.Violation.Statement
	}
	return ""
}
