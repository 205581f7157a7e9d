package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// pool is a model of a set without a deployment.
type pool struct {
	set     replicas.Set
	policy  replicas.Policy
	members []replicas.Member
	fresh   map[types.UID]bool
	hooks   map[types.UID]bool
	// doomed are machines that fail as soon as they run.
	doomed bool
	serial int
}

// poolOf is a set that wants n machines and has these.
func poolOf(n int, names ...string) *pool {
	p := &pool{
		set:    replicas.Set{UID: "uid-set", Name: "set", Replicas: n},
		policy: replicas.Policy{Burst: 100, Order: []replicas.Criterion{replicas.ByPhase, replicas.ByAge}, ReplaceFailed: true},
		fresh:  map[types.UID]bool{}, hooks: map[types.UID]bool{},
	}
	for i, name := range names {
		p.members = append(p.members, replicas.Member{
			UID: types.UID(name), Name: name, Created: epoch.Add(time.Duration(i-10) * time.Hour), Phase: replicas.PhaseRunning, Ready: true, Usable: true, Linked: true,
		})
	}
	return p
}

func (p *pool) Rollout(time.Time) (Rollout, bool)  { return Rollout{}, false }
func (p *pool) Carry(time.Time, rollout.Plan) bool { return false }
func (p *pool) Settle(time.Time) []Step            { return nil }
func (p *pool) Sets(time.Time) []Set {
	return []Set{{Set: p.set, Members: slices.Clone(p.members), Policy: p.policy}}
}

func (p *pool) find(uid types.UID) int {
	return slices.IndexFunc(p.members, func(m replicas.Member) bool { return m.UID == uid })
}

func (p *pool) Become(_ time.Time, uid types.UID, s State) {
	i := p.find(uid)
	switch {
	case s == Gone:
		p.members = slices.Delete(p.members, i, i+1)
	case p.doomed:
		p.members[i].Failed, p.members[i].Phase = true, replicas.PhaseFailed
	default:
		p.members[i].Phase, p.members[i].Ready, p.members[i].Usable = replicas.PhaseRunning, true, true
	}
}

func (p *pool) Act(now time.Time, _ types.UID, d replicas.Decision) (out []types.UID) {
	for range d.Create {
		p.serial++
		uid := types.UID(fmt.Sprint("new-", p.serial))
		p.members = append(p.members, replicas.Member{UID: uid, Name: string(uid), Created: now, Phase: replicas.PhasePending})
		p.fresh[uid] = true
		out = append(out, uid)
	}
	for _, v := range d.Delete {
		p.members[p.find(v.UID)].Deleting = true
	}
	return out
}

func (p *pool) Machines(time.Time) (out []Machine) {
	for _, m := range p.members {
		f := Machine{UID: m.UID, Name: m.Name, Set: "set", New: p.fresh[m.UID], State: Running}
		switch {
		case m.Deleting:
			f.State = Leaving
		case m.Failed:
			f.State = Unwell
		case !m.Ready:
			f.State = Coming
		}
		out = append(out, f)
	}
	return out
}

func (p *pool) Exit(uid types.UID) Exit {
	e := Exit{Machine: lifecycle.Machine{HasFinalizer: true}}
	if p.hooks[uid] {
		e.Machine.Deletion.PreTerminate = []lifecycle.Hook{{Name: "backup", Owner: "operator"}}
	}
	return e
}

var known = Durations{
	Create: Estimate{Length: 3 * time.Minute, Known: true, Source: "creations"},
	Delete: Estimate{Length: time.Minute, Known: true, Source: "deletions"},
}

func kinds(f Forecast) string {
	var out []string
	for _, s := range f.Steps {
		text := fmt.Sprintf("%s %d", s.Kind, s.Count)
		for _, m := range s.Machines {
			text += " " + m.Name
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		reason string
		pool   func() *pool
		d      Durations
		steps  string
		took   time.Duration
		known  bool
		waits  string
		rest   int
	}{
		{reason: "nothing to do", pool: func() *pool { return poolOf(2, "a", "b") }, d: known, known: true, rest: 2},
		{reason: "machines take their time to come", pool: func() *pool { return poolOf(2) }, d: known, steps: "Create 2", took: 3 * time.Minute, known: true, rest: 2},
		{reason: "and to go", pool: func() *pool { return poolOf(1, "a", "b", "c") }, d: known, steps: "Delete 2 a b", took: time.Minute, known: true, rest: 1},
		{reason: "of which nobody knows how long is not guessed", pool: func() *pool { return poolOf(1, "a", "b", "c") }, steps: "Delete 2 a b", rest: 1},
		{
			reason: "a hook keeps a machine", d: known, steps: "Delete 1 a", waits: "machine a stays: it waits until these hooks are removed: backup (operator)", rest: 1,
			pool: func() *pool {
				p := poolOf(1, "a", "b")
				p.hooks["a"] = true
				return p
			},
		},
		{
			reason: "a set at fault does nothing", d: known, waits: "set set: spec.replicas: must not be negative", rest: 1,
			pool: func() *pool {
				p := poolOf(-1, "a")
				p.set.Faults = []lifecycle.Fault{{Field: "spec.replicas", Message: "must not be negative"}}
				return p
			},
		},
		{
			reason: "a set that may not grow says so", d: known, waits: "set set: 1 members are missing, but it is frozen", rest: 1,
			pool: func() *pool {
				p := poolOf(2, "a")
				p.set.NoGrowth = "it is frozen"
				return p
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			f := Run(epoch, test.pool(), test.d, nil, nil)
			took := f.Took.Length.Truncate(time.Second)
			if got := kinds(f); got != test.steps || took != test.took || f.Took.Known != test.known || strings.Join(f.Waits, ", ") != test.waits || f.Rest != test.rest {
				t.Errorf("%s: %s; %v known %v; waits %q; %d in the end", test.reason, got, took, f.Took.Known, f.Waits, f.Rest)
			}
		})
	}
}

// TestRunIsBounded: machines that fail are replaced for ever.
func TestRunIsBounded(t *testing.T) {
	p := poolOf(1)
	p.doomed = true
	if f := Run(epoch, p, known, nil, nil); !f.Cut || f.Took.Known || f.Created < 100 {
		t.Errorf("cut %v after %d machines, duration known %v", f.Cut, f.Created, f.Took.Known)
	}
}

// TestFreshMachinesHaveNoNames: machines that do not exist yet are counted, not named.
func TestFreshMachinesHaveNoNames(t *testing.T) {
	p := poolOf(1)
	p.doomed = true
	f := Run(epoch, p, known, nil, nil)
	for _, s := range f.Steps {
		if len(s.Machines) > 0 {
			t.Fatalf("%s names %v", s.Kind, s.Machines)
		}
	}
	if f.Deleted < 100 {
		t.Errorf("%d deletions", f.Deleted)
	}
}

// TestOpen: steps after several simultaneous machines may be split, steps before may not.
func TestOpen(t *testing.T) {
	for n, want := range map[int]bool{1: false, 2: true} {
		p := poolOf(n)
		p.doomed = true
		f := Run(epoch, p, known, nil, nil)
		if f.Steps[0].Open || f.Steps[1].Open != want {
			t.Errorf("%d machines: %+v", n, f.Steps[:2])
		}
	}
}

func TestWhy(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*replicas.Member)
		want   string
	}{
		{reason: "age", want: "surplus, older than those that stay"},
		{reason: "phase", change: func(m *replicas.Member) { m.Phase = replicas.PhasePending }, want: "surplus, further from running than those that stay"},
		{reason: "a reason of its own", change: func(m *replicas.Member) { m.Failed = true }, want: "failed"},
		{reason: "no difference", change: func(m *replicas.Member) { m.Created = epoch.Add(-9 * time.Hour) }, want: "surplus, by name before those that stay"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			p := poolOf(1, "a", "b")
			if test.change != nil {
				test.change(&p.members[0])
			}
			f := Run(epoch, p, known, nil, nil)
			if len(f.Steps) == 0 || len(f.Steps[0].Machines) != 1 || f.Steps[0].Machines[0].Name != "a" || f.Steps[0].Machines[0].Reason != test.want {
				t.Errorf("%s: %+v, want a: %s", test.reason, f.Steps, test.want)
			}
		})
	}
}
