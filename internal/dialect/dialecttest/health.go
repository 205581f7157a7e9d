package dialecttest

import (
	"errors"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// HealthLaws describe a lens of health checks to check.
type HealthLaws[C client.Object] struct {
	Dialect dialect.HealthChecks[C]
	// Prepare changes a random object into one that the API server could hold.
	Prepare func(c C, r *rand.Rand)
	// Fill are further randfill functions.
	Fill []any
	// Owned are the JSON paths that Record may change.
	Owned []string
	// Shows returns the counters in the status of c: expected and healthy machines.
	Shows func(c C) (expected, healthy int)
}

// Check runs the laws on random objects: Record shows the outcome, changes only owned fields, writes nothing
// the second time, and a stored memory is read unchanged.
func (l HealthLaws[C]) Check(t *testing.T) {
	t.Helper()
	for seed := range int64(1000) {
		r := rand.New(rand.NewSource(seed)) //nolint:gosec // repeatable on purpose
		before := l.Dialect.New()
		randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(append(fillers(), l.Fill...)...).Fill(before)
		l.Prepare(before, r)
		o := healthOutcome(r, l.Dialect.View(before, dialect.CommonConditions{}))
		after := clone(before)
		l.Dialect.Record(after, o)
		for name, err := range map[string]error{
			"shows": l.shows(after, o), "owned": l.owned(before, after), "idempotent": l.idempotent(after, o), "remembers": remembers(before, o.Plan.Memory),
		} {
			if err != nil {
				t.Fatalf("law %q is broken (seed %d): %v", name, seed, err)
			}
		}
	}
}

// healthOutcome returns the outcome for a random fleet.
func healthOutcome(r *rand.Rand, c health.Check) dialect.HealthOutcome {
	w := health.Cohort{Check: c}
	for i := range r.Intn(8) {
		m := health.Target{
			UID: types.UID(fmt.Sprint(i)), Name: fmt.Sprint("m", i), Created: Now.Add(-time.Hour), Updated: Now.Add(-time.Hour),
			Owner: health.Owner{UID: "set", Kind: "MachineSet"}, Failed: r.Intn(3) == 0, Deleting: r.Intn(5) == 0, Zone: fmt.Sprint(r.Intn(2)),
		}
		if r.Intn(3) > 0 {
			m.NodeName, m.Node = "n", &health.Node{Name: "n"}
		}
		j := health.Judge(Now, w.Seen, &c, nil, &m)
		w.Machines = append(w.Machines, &j)
	}
	sight := health.Connectivity{Nodes: 9, Heard: Now}
	if r.Intn(5) == 0 {
		sight.Blind = "it is dark"
	}
	o := dialect.HealthOutcome{Now: Now, Check: c, Plan: health.Decide(Now, w, sight, health.Memory{}), Requested: r.Intn(2) == 0}
	if r.Intn(3) == 0 {
		o.TemplateErr = errors.New("there is no template")
	}
	if r.Intn(3) == 0 {
		o.RequestErr = errors.New("refused")
	}
	return o
}

func (l HealthLaws[C]) shows(after C, o dialect.HealthOutcome) error {
	expected, healthy := l.Shows(after)
	if expected != o.Plan.Expected || healthy != o.Plan.Healthy {
		return fmt.Errorf("%d of %d are healthy, the object shows %d of %d", o.Plan.Healthy, o.Plan.Expected, healthy, expected)
	}
	return nil
}

func (l HealthLaws[C]) owned(before, after C) error {
	changed, err := changedPaths(before, after)
	if err != nil {
		return err
	}
	for _, path := range changed {
		if !under(path, l.Owned) {
			return fmt.Errorf("%s was changed, and is not the dialect's", path)
		}
	}
	return nil
}

func (l HealthLaws[C]) idempotent(after C, o dialect.HealthOutcome) error {
	again := clone(after)
	o.Now = o.Now.Add(time.Hour)
	l.Dialect.Record(again, o)
	if !equality.Semantic.DeepEqual(again, after) {
		return fmt.Errorf("the second Record of one outcome changed something\n%s", cmp.Diff(after, again))
	}
	return nil
}

// remembers: a stored memory is read unchanged, and no other field changes.
func remembers[C client.Object](before C, m health.Memory) error {
	after := clone(before)
	dialect.WriteMemory(after, m)
	got := dialect.ReadMemory(after)
	if diff := cmp.Diff(m.Storms, got.Storms, cmpopts.EquateEmpty()); diff != "" || !got.Equal(m) {
		return fmt.Errorf("the memory differs\n%s", cmp.Diff(m, got))
	}
	changed, err := changedPaths(before, after)
	if err != nil {
		return err
	}
	for _, path := range changed {
		if path != "metadata.annotations["+dialect.RemediationsAnnotation+"]" {
			return fmt.Errorf("%s was changed by remembering", path)
		}
	}
	return nil
}
