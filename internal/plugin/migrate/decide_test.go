package migrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// world has the objects of both APIs, and the instances. The controllers of both APIs act on it.
type world struct {
	*rapid.T
	sets     [2]*Set
	class    bool
	machines [2]map[string]*Machine
	replicas int32
}

func newWorld(t *rapid.T) *world {
	w := &world{T: t, replicas: int32(rapid.IntRange(0, 4).Draw(t, "replicas")), machines: [2]map[string]*Machine{{}, {}}}
	w.sets[0] = &Set{Replicas: w.replicas, Observed: w.replicas}
	for i := range w.replicas {
		w.machines[0][fmt.Sprint("m-", i)] = &Machine{Running: true, Recorded: true, ProviderID: fmt.Sprint("cloud:///i-", i)}
	}
	return w
}

// state returns the facts for a migration from one API to the other.
func (w *world) state(from int) (s State) {
	to := 1 - from
	s.Source, s.Target, s.Class = copied(w.sets[from]), copied(w.sets[to]), w.class || to == 0
	names := map[string]bool{}
	for _, side := range w.machines {
		for name := range side {
			names[name] = true
		}
	}
	for name := range names {
		s.Pairs = append(s.Pairs, Pair{Name: name, Source: copied(w.machines[from][name]), Target: copied(w.machines[to][name])})
	}
	slices.SortFunc(s.Pairs, func(a, b Pair) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// perform performs a step, as the API server does.
func (w *world) perform(from int, step Step) {
	to := 1 - from
	source, target := w.machines[from][step.Machine], w.machines[to][step.Machine]
	switch step.Action {
	case CreateClass:
		w.class = true
	case CreateSet:
		w.sets[to] = &Set{Replicas: w.sets[from].Replicas, Held: true}
	case HoldSource:
		w.sets[from].Held = true
	case MarkSource:
		source.Moved = true
	case CreateMachine:
		if target != nil {
			w.Fatalf("%s is created twice", step.Machine)
		}
		w.machines[to][step.Machine] = &Machine{ProviderID: source.ProviderID}
	case UnmarkTarget:
		target.Moved = false
	case DeleteSource:
		source.Deleting = true
	case ReleaseTarget:
		w.sets[to].Held = false
	case DeleteSet:
		w.sets[from].Deleting = true
	}
	w.check()
}

// check fails if two Machines act on one instance.
func (w *world) check() {
	for name, m := range w.machines[0] {
		if o := w.machines[1][name]; o != nil && !m.Moved && !o.Moved {
			w.Fatalf("two machines %s act on one instance", name)
		}
	}
}

// reconcile lets the controllers of one API act.
func (w *world) reconcile(api int) {
	for name, m := range w.machines[api] {
		o := w.machines[1-api][name]
		switch {
		case !m.Deleting && !m.Moved:
			m.Recorded, m.Running = true, true
		case m.Deleting && !m.Moved:
			w.Fatalf("the instance of %s is terminated", name)
		case m.Deleting && o != nil && o.Recorded && !o.Moved && !o.Deleting:
			delete(w.machines[api], name)
		}
	}
	s := w.sets[api]
	if s == nil {
		return
	}
	n := int32(len(w.machines[api]))
	switch {
	case s.Deleting && n > 0:
		w.Fatalf("the set is deleted with %d machines", n)
	case s.Deleting:
		w.sets[api] = nil
		return
	case n > s.Replicas:
		w.Fatalf("the set has %d machines, and deletes some", n)
	case n < s.Replicas && !s.Held:
		w.Fatalf("the set has %d machines, wants %d, and creates others", n, s.Replicas)
	}
	s.Observed = n
}

// TestDecide: whatever the order of steps and reconciles, and however often the direction changes, no instance is terminated,
// no machine is created at the infrastructure, and no two Machines act on one instance. In the end, the set is where it should be.
func TestDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, from := newWorld(t), 0
		turn := func(name string) {
			switch rapid.IntRange(0, 9).Draw(t, name) {
			case 0, 1:
				w.reconcile(0)
			case 2, 3:
				w.reconcile(1)
			case 4:
				from = 1 - from // the user changes the mind
			default:
				s := w.state(from)
				if s.Source == nil && s.Target == nil {
					t.Fatal("no set is left")
				}
				w.perform(from, Decide(s))
			}
		}
		for i := range rapid.IntRange(0, 60).Draw(t, "turns") {
			turn(fmt.Sprint("turn", i))
		}
		for i := 0; ; i++ {
			step := Decide(w.state(from))
			if step.Action == Done {
				break
			}
			if i > 200 {
				t.Fatalf("no end: %+v, %+v", step, w.state(from))
			}
			w.perform(from, step)
			w.reconcile(0)
			w.reconcile(1)
		}
		s := w.sets[1-from]
		if s == nil || s.Held || w.sets[from] != nil || len(w.machines[from]) > 0 || int32(len(w.machines[1-from])) != w.replicas {
			t.Errorf("in the end: sets %+v %+v, machines %d and %d, want %d", w.sets[from], s, len(w.machines[from]), len(w.machines[1-from]), w.replicas)
		}
	})
}

// TestObstacles: what prevents the beginning does not prevent the end of a migration that has begun.
func TestObstacles(t *testing.T) {
	fit := func() *Machine { return &Machine{Running: true, Recorded: true, ProviderID: "cloud:///i-1"} }
	unfit := func() *Machine { return &Machine{Unfit: "has no instance yet"} }
	for _, c := range []struct {
		reason string
		s      State
		want   string
	}{
		{"nothing", State{Source: &Set{Replicas: 1}, Pairs: []Pair{{Name: "a", Source: fit()}}}, ""},
		{"an unfit machine", State{Source: &Set{Replicas: 1}, Pairs: []Pair{{Name: "a", Source: unfit()}}}, "machine a has no instance yet"},
		{"a set that grows", State{Source: &Set{Replicas: 2}, Pairs: []Pair{{Name: "a", Source: fit()}}}, "wants 2 machines and has 1"},
		{"half of it is done", State{Source: &Set{Replicas: 2}, Target: &Set{}, Pairs: []Pair{{Name: "a", Source: fit()}, {Name: "b", Target: fit()}}}, ""},
		{"another instance", State{Source: &Set{Replicas: 1}, Pairs: []Pair{{Name: "a", Source: fit(), Target: &Machine{ProviderID: "cloud:///i-2"}}}}, "machine a with another instance"},
		{"other spellings of one provider ID", State{Source: &Set{Replicas: 1}, Pairs: []Pair{{Name: "a", Source: fit(), Target: &Machine{ProviderID: "cloud:///zone/i-1"}}}}, ""},
		{"a set under deletion", State{Source: &Set{Replicas: 1, Deleting: true}, Pairs: []Pair{{Name: "a", Source: fit()}}}, "the set is being deleted"},
		{"the end of a migration", State{Source: &Set{Replicas: 1, Deleting: true}, Target: &Set{}, Pairs: []Pair{{Name: "a", Target: fit()}}}, ""},
	} {
		got := strings.Join(Obstacles(c.s), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
