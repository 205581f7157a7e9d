package mutants

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Bench tries the mutants of a list. Callers may call its methods concurrently.
type Bench struct {
	tree  *tree
	cache cache
	list  []Mutant
	// Fresh ignores the results of earlier runs.
	Fresh bool
	// Worlds is the largest number of worlds that the simulator tries for each dialect.
	Worlds int

	mu       sync.Mutex
	workshop *workshop
}

// NewBench reads the module at root. The caller must close the bench.
func NewBench(ctx context.Context, root string, list []Mutant) (*Bench, error) {
	t, err := readTree(ctx, root)
	if err != nil {
		return nil, err
	}
	c, err := newCache()
	if err != nil {
		return nil, fmt.Errorf("opening the cache: %w", err)
	}
	c.prune()
	return &Bench{tree: t, cache: c, list: list, Worlds: 1500}, nil
}

// Close removes the built programs.
func (b *Bench) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.workshop != nil {
		os.RemoveAll(b.workshop.folder)
		b.workshop = nil
	}
}

// Verdict is the result of the tests of one package for a mutant.
type Verdict struct {
	Package string `json:"package"`
	// Units and Properties are nil if they were not run.
	Units      *Run `json:"units,omitempty"`
	Properties *Run `json:"properties,omitempty"`
	// Stillborn is the reason for which the mutant does not compile.
	Stillborn string `json:"stillborn,omitempty"`
	// Sick are the tests that were left out because they fail without a mutant, too.
	Sick []string `json:"sick,omitempty"`
}

func (v Verdict) found() bool {
	return v.Units != nil && v.Units.Failed != "" || v.Properties != nil && v.Properties.Failed != ""
}

// soundness is the result of the tests of a package without a mutant.
type soundness struct {
	// Units and Properties are their durations in seconds.
	Units, Properties float64
	// Sick are the tests that fail.
	Sick []string
}

// soundOf runs the tests of a binary without a mutant: a test that fails then cannot find a mutant.
func (b *Bench) soundOf(ctx context.Context, bin *binary, dir, digest string) (s soundness, err error) {
	question := []string{"sound", dir, digest}
	if b.cache.get(&s, question...) {
		return s, nil
	}
	t := trial{timeout: 10 * time.Minute}
	for _, part := range []struct {
		seconds *float64
		run     func() (Run, error)
	}{
		{&s.Units, func() (Run, error) { return bin.units(ctx, t) }},
		{&s.Properties, func() (Run, error) { return bin.some(ctx, t, bin.tests.of(property)) }},
	} {
		for {
			r, err := part.run()
			if err != nil {
				return s, err
			}
			if *part.seconds = r.Seconds; r.Failed == "" {
				break
			}
			if bin.tests[r.Failed] == "" { // after a panic or a timeout the other tests were not run
				return s, fmt.Errorf("the tests of %s fail without any mutant: %s:\n%s", dir, r.Failed, r.Output)
			}
			bin.tests[r.Failed] = sick
			s.Sick = append(s.Sick, r.Failed)
		}
	}
	return s, b.cache.put(s, question...)
}

// patience is how long tests may take that took so many seconds before: a busy machine is no defect.
func patience(seconds float64) time.Duration {
	return time.Duration(10*seconds+30) * time.Second
}

// slow is the duration in seconds from which on properties are not run after a unit test has found the mutant.
const slow = 10

// Try runs the tests that may find the mutant until one package finds it: first the package of the mutant, then the packages
// whose tests cover it.
func (b *Bench) Try(ctx context.Context, m Mutant) ([]Verdict, error) {
	var verdicts []Verdict
	for _, dir := range b.packages(m) {
		v, err := b.verdict(ctx, m, dir)
		if err != nil {
			return nil, fmt.Errorf("mutant %s: %w", m.ID, err)
		}
		verdicts = append(verdicts, v)
		if v.found() || v.Stillborn != "" {
			break
		}
	}
	return verdicts, nil
}

// packages are the packages whose tests may find the mutant. The package of the test that the mutant names is the first.
func (b *Bench) packages(m Mutant) []string {
	r := roomOf(m.Room())
	dirs := append([]string{r.dir}, r.tests...)
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !slices.Contains(b.tree.closure(dir), r.dir) })
	has := func(dir string) bool {
		kinds, err := testsOf(b.tree.root + "/" + dir)
		return err == nil && kinds[m.Finds] != ""
	}
	if n := slices.IndexFunc(dirs, has); m.Finds != "" && n > 0 {
		named := dirs[n]
		dirs = append([]string{named}, slices.Delete(dirs, n, n+1)...)
	}
	return dirs
}

// verdict runs the tests of one package, or reads their result from the cache.
func (b *Bench) verdict(ctx context.Context, m Mutant, dir string) (Verdict, error) {
	digest, err := b.tree.digest(dir)
	if err != nil {
		return Verdict{}, err
	}
	question := []string{"verdict", dir, digest, m.change(), m.Finds}
	v := Verdict{Package: dir}
	if !b.Fresh && b.cache.get(&v, question...) {
		return v, nil
	}
	bin, s, err := b.sound(ctx, dir, digest)
	if err != nil {
		return v, err
	}
	if err := b.ask(ctx, m, bin, s, &v); err != nil {
		return v, err
	}
	return v, b.cache.put(v, question...)
}

// change describes what the mutant changes.
func (m Mutant) change() string {
	where := m.Func
	if m.at != nil {
		where = strconv.Itoa(m.at.from)
	}
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s", m.path(), where, m.From, m.To)
}

func (b *Bench) ask(ctx context.Context, m Mutant, bin *binary, s soundness, v *Verdict) error {
	number, dead := b.numberOf(m)
	if v.Stillborn = dead; dead != "" {
		return nil
	}
	units, err := bin.unitsFor(ctx, m, trial{number, patience(s.Units)})
	if err != nil {
		return err
	}
	v.Units, v.Sick = &units, s.Sick
	names := bin.tests.of(property)
	if len(names) == 0 || units.Failed != "" && s.Properties > slow {
		return nil
	}
	properties, err := bin.some(ctx, trial{number, patience(s.Properties)}, names)
	v.Properties = &properties
	return err
}

// unitsFor runs the test that the mutant names. It runs the other tests only if that test does not find the mutant.
func (b *binary) unitsFor(ctx context.Context, m Mutant, t trial) (Run, error) {
	if b.tests[m.Finds] == unitTest {
		if r, err := b.some(ctx, t, []string{m.Finds}); err != nil || r.Failed != "" {
			return r, err
		}
	}
	return b.units(ctx, t)
}
