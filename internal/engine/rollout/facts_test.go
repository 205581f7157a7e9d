package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// counting is the policy of an API that counts machines under deletion, against room and in the status, and
// marks nodes.
var (
	counting = Policy{LeavingTakesRoom: true, StatusCountsLeaving: true, Cascade: true}
	marking  = Policy{LeavingTakesRoom: true, StatusCountsLeaving: true, Cascade: true, AvoidOld: true, StayDuringRollout: true}
)

// rolls is a deployment that rolls within the given bounds.
func rolls(replicas int, surge, unavailable string) Deployment {
	d := Deployment{Name: "pool", Replicas: replicas, Strategy: Rolling, Surge: bound(surge), Unavailable: bound(unavailable), Revision: 1}
	d.Last.Progress = Progress{Status: True, Reason: SetUpdated, Since: now.Add(-time.Minute)}
	return d
}

// by is d with changes.
func (d Deployment) by(changes ...func(*Deployment)) Deployment {
	for _, c := range changes {
		c(&d)
	}
	return d
}

func strategy(s Strategy) func(*Deployment) { return func(d *Deployment) { d.Strategy = s } }
func paused(d *Deployment)                  { d.Paused = true }
func frozen(d *Deployment)                  { d.Frozen = "there are far too many machines" }
func canaryOf(v string) func(*Deployment)   { return func(d *Deployment) { d.Guard.Canary = bound(v) } }

// old and current are sets whose machines are all available. Sets of names
// later in the alphabet are younger, and of a higher revision.
func old(name string, replicas int, changes ...func(*Set)) Set {
	age := int64(name[0] - 'a')
	s := Set{
		UID: types.UID("uid-" + name), Name: name, Created: now.Add(-time.Hour * time.Duration(24-age)), Replicas: replicas,
		Observed: true, Revision: age + 1, Machines: nil,
	}
	for i := range replicas {
		s.Machines = append(s.Machines, machine(fmt.Sprintf("%s%d", name, i+1)))
	}
	for _, c := range changes {
		c(&s)
	}
	return s
}

func current(name string, replicas int, changes ...func(*Set)) Set {
	return old(name, replicas, append([]func(*Set){func(s *Set) { s.Current = true }}, changes...)...)
}

func machine(name string, changes ...func(*Machine)) Machine {
	m := Machine{
		Member: replicas.Member{
			UID: types.UID("uid-" + name), Name: name, Created: now.Add(-time.Hour), Ready: true, Usable: true, ReadySince: now.Add(-50 * time.Minute),
		},
		Joined: true, Node: "node-" + name, Seen: true,
	}
	for _, c := range changes {
		c(&m)
	}
	return m
}

// wants changes the wanted size of the set, not its machines.
func wants(n int) func(*Set) { return func(s *Set) { s.Replicas = n } }

func scaledFor(desired, most int) func(*Set) {
	return func(s *Set) { s.Desired, s.Max = &desired, &most }
}

// first changes the first n machines of a set, last the last n, more adds n.
func first(n int, changes ...func(*Machine)) func(*Set) {
	return func(s *Set) {
		for i := range s.Machines[:n] {
			for _, c := range changes {
				c(&s.Machines[i])
			}
		}
	}
}

func last(n int, changes ...func(*Machine)) func(*Set) {
	return func(s *Set) {
		for i := range n {
			for _, c := range changes {
				c(&s.Machines[len(s.Machines)-1-i])
			}
		}
	}
}

func more(n int, changes ...func(*Machine)) func(*Set) {
	return func(s *Set) {
		for range n {
			s.Machines = append(s.Machines, machine(fmt.Sprintf("%s%d", s.Name, len(s.Machines)+1), changes...))
		}
	}
}

func held(s *Set)   { s.NoGrowth = true }
func unseen(s *Set) { s.Observed = false }
func dying(s *Set)  { s.Deleting = true }

func leaving(m *Machine) { m.Leaving = true }
func asked(m *Machine)   { m.Asked = true }
func moved(m *Machine)   { m.Moved = true }
func pending(m *Machine) {
	m.Joined, m.Ready, m.Usable, m.ReadySince, m.Node, m.Seen = false, false, false, time.Time{}, "", false
}

func broken(m *Machine) {
	m.Ready, m.Usable, m.ReadySince, m.Failed = false, false, time.Time{}, true
}

func keptOne(m *Machine) {
	broken(m)
	m.Preservation.Until = epoch.Add(24 * time.Hour)
}

func candidate(m *Machine) { m.Update.Request = inplace.RequestCandidate }
func selected(m *Machine) {
	m.Update.Request = inplace.RequestSelected
}

func updating(m *Machine) {
	selected(m)
	m.Update.Mark, m.Update.Phase, m.Ready, m.Usable = inplace.MarkReady, inplace.PhaseUpdating, false, false
}

func updated(m *Machine) {
	selected(m)
	m.Update.Answer, m.Update.Mark = inplace.AnswerDone, inplace.MarkUpdated
}

func updateFailed(m *Machine) {
	updating(m)
	m.Update.Answer, m.Update.Mark, m.Update.Phase = inplace.AnswerFailed, inplace.MarkFailed, inplace.PhaseFailed
}

// brief returns the changes of a plan, in the order of writing.
func brief(sets []Set, p Plan) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r := p.RollBack(); r != nil {
		to := "nothing"
		if r.To != nil {
			to = r.To.Name
		}
		say("roll back to %s", to)
	}
	for _, v := range p.Victims() {
		say("mark %s", v.Name)
	}
	for _, n := range p.Nodes() {
		say("%s", nodeBrief(n))
	}
	if p.Create() != nil {
		say("create with %d as revision %d", p.Create().Replicas, p.Create().Revision)
	}
	name := map[types.UID]string{}
	for _, s := range sets {
		name[s.UID] = s.Name
	}
	for _, m := range p.Moves() {
		say("move %s from %s to %s", m.Name, name[m.From], name[m.To])
	}
	for _, w := range p.Sets() {
		if w.Scales() {
			say("%s %d->%d", w.Name, w.Was, w.Replicas)
		}
	}
	for _, m := range p.Unprotect() {
		say("unshield %s", m.Name)
	}
	for _, s := range p.Delete() {
		say("delete %s", s.Name)
	}
	return out
}

func nodeBrief(n NodeWant) string {
	out := []string{n.Node + ":"}
	for _, f := range []struct {
		name string
		is   bool
	}{{"avoid", n.Avoid}, {"stay", n.Stay}, {"candidate", n.Update.Request().Candidate()}, {"selected", n.Update.Request().Selected()}, {"release", n.Update == inplace.WishRelease}} {
		if f.is {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, " ")
}

// row is a line of a table about plans.
type row struct {
	reason  string
	d       Deployment
	sets    []Set
	policy  *Policy
	plan    []string
	waiting string
}

func checkRows(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			policy := counting
			if r.policy != nil {
				policy = *r.policy
			}
			p := Decide(now, r.d, r.sets, policy)
			if diff := cmp.Diff(r.plan, brief(r.sets, p)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", r.reason, diff)
			}
			if r.waiting != "" && p.Status.Waiting != r.waiting {
				t.Errorf("%s\nwaits for %q, expected %q", r.reason, p.Status.Waiting, r.waiting)
			}
			for _, w := range p.Sets() {
				if w.Scales() && w.Note == "" {
					t.Errorf("set %s is scaled without a reason", w.Name)
				}
			}
		})
	}
}

// want returns the plan's wanted state of a set.
func want(t *testing.T, p Plan, name string) SetWant {
	t.Helper()
	for _, w := range p.Sets() {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("the plan says nothing of set %s", name)
	return SetWant{}
}

// seen gives a deployment the connection of a process that began to probe a while ago and was disconnected
// from lost until a minute before now.
func seen(began, lost time.Duration) func(*Deployment) {
	const interval = 10 * time.Second
	state := connectivity.Begin(now.Add(-began), connectivity.Policy{Timeout: time.Hour, Interval: interval}, connectivity.Control)
	for at := began; at >= 0; at -= interval {
		answer := connectivity.Reachable
		if at < lost && at > time.Minute {
			answer = connectivity.Unreachable
		}
		state = state.After(connectivity.Probe{At: now.Add(-at), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: answer}})
	}
	return func(d *Deployment) { d.Connectivity = state }
}

// failedOnce is a machine whose node reports a failed update, and that works; updatedOnce reports a
// successful one, and neither was requested.
func failedOnce(m *Machine)  { m.Update.Answer = inplace.AnswerFailed }
func updatedOnce(m *Machine) { m.Update.Answer = inplace.AnswerDone }
