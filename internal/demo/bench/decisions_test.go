package bench

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Each timed decision must have something to decide.
func TestDecisionsDecideSomething(t *testing.T) {
	d, p := deployment()
	first := rollout.Decide(noon, d, setsOf(noon, 0), p)
	if len(first.Nodes()) != crowd {
		t.Errorf("at its beginning a rollout marks %d nodes, want %d", len(first.Nodes()), crowd)
	}
	if n := scaled(first, "new"); n != surgeOf(crowd) {
		t.Errorf("at its beginning a rollout makes %d machines, want the surge of %d", n, surgeOf(crowd))
	}
	half := setsOf(noon, crowd/2)
	if n := len(half[0].Machines) + len(half[1].Machines); n != crowd {
		t.Errorf("half way there are %d machines, want %d", n, crowd)
	}
	if n := scaled(rollout.Decide(noon, d, half, p), "new"); n == 0 {
		t.Error("half way a rollout decides nothing")
	}
	set, members := setOf(noon)
	if got := replicas.Decide(noon, set, members, replicas.Policy{Burst: crowd}); len(got.Delete) != crowd/10 {
		t.Errorf("the set gives up %d, want %d", len(got.Delete), crowd/10)
	}
}

// scaled is by how many machines the plan changes the set.
func scaled(p rollout.Plan, name string) int {
	for _, w := range p.Sets() {
		if w.Name == name {
			return w.Replicas - w.Was
		}
	}
	return 0
}

func TestTimed(t *testing.T) {
	calls := 0
	d := timed("question", func() { calls++; time.Sleep(200 * time.Microsecond) })
	if calls != repetitions || d.Machines != crowd || d.Question != "question" {
		t.Errorf("%d calls, %+v", calls, d)
	}
	if d.Seconds.P50 < 0.0002 || d.Seconds.P99 < d.Seconds.P50 {
		t.Errorf("took %+v, want no less than 0.2 ms", *d.Seconds)
	}
}
