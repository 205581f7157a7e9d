package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

// model is a deployment in its own world: its sets with their own controllers, machines that take their time,
// a cache that lags behind, and writes that fail. All random choices use chance, so that a run can be
// repeated, and shrunk.
type model struct {
	now      time.Time
	d        Deployment
	p        Policy
	setPol   replicas.Policy
	template string
	sets     []*modelSet
	machines []*modelMachine
	// shownSets and shown are the contents of the deployment's cache. Its own writes appear at once.
	shownSets []modelSet
	shown     []modelMachine
	serial    int
	// chance returns one of 0 to n-1.
	chance func(what string, n int) int
	// crash is after how many writes the next pass is interrupted; negative: never.
	crash int
	// Machines become ready after start, leave within leave, and are updated
	// within update; each up to twice as long by chance.
	start, leave, update time.Duration
	// spoilt templates create machines that never join; of updates in place, one of failing fails, none if it
	// is 0.
	spoilt  map[string]bool
	failing int
	// diligent people delete the machines that a rollout waits for them to.
	diligent bool
	// plan is that of the last pass.
	plan Plan
	// Watchers see each write before it is done.
	onScale func(s *modelSet, to int)
	onSet   func(w SetWant)
	fail    func(format string, args ...any)
	tell    func(who, format string, args ...any)
	// created and removed count machines over all time.
	created, removed int
}

// modelSet is a set as the API server has it. The fields Current and Machines
// of the embedded one are filled in by the view.
type modelSet struct {
	Set
	template                      string
	version, generation, observed int
	// heard is the last read of the set's own controller.
	heard struct {
		replicas, generation int
		held                 bool
	}
}

type modelMachine struct {
	Machine
	set      types.UID
	template string
	version  int
	readyAt  time.Time
	goneAt   time.Time
	endAt    time.Time
	// surplus says that it is deleted because its set had too many, updated that its node was updated in
	// place, to the template that was wanted then.
	surplus, updated bool
}

func newModel(d Deployment, p Policy, chance func(string, int) int) *model {
	m := &model{
		now: epoch, d: d, p: p, template: "a", chance: chance, crash: -1,
		start: 2 * time.Minute, leave: time.Minute, update: 3 * time.Minute,
		spoilt: map[string]bool{},
		tell:   func(string, string, ...any) {}, onScale: func(*modelSet, int) {}, onSet: func(SetWant) {},
		setPol: replicas.Policy{
			Burst: 100, Order: []replicas.Criterion{replicas.KeptLast, replicas.ByPriority, replicas.MarkedFirst, replicas.ByPhase, replicas.ByAge},
			ReplaceFailed: true, HonourMarks: true, Cascade: true,
		},
	}
	m.d.UID, m.d.Name = "uid-pool", "pool"
	return m
}

// deliver updates the cache.
func (m *model) deliver() {
	m.shownSets, m.shown = nil, nil
	for _, s := range m.sets {
		m.shownSets = append(m.shownSets, *s)
	}
	for _, x := range m.machines {
		m.shown = append(m.shown, *x)
	}
}

// view is what the deployment's controller sees.
func (m *model) view() []Set {
	var out []Set
	for _, s := range m.shownSets {
		v := s.Set
		v.Current, v.Observed = s.template == m.template, s.observed >= s.generation
		v.Notes.Failed = slices.Clone(v.Notes.Failed)
		for _, x := range m.shown {
			if x.set == s.UID {
				v.Machines = append(v.Machines, x.Machine)
			}
		}
		out = append(out, v)
	}
	return out
}

func (m *model) set(uid types.UID) *modelSet {
	for _, s := range m.sets {
		if s.UID == uid {
			return s
		}
	}
	return nil
}

// current is the set of the current template.
func (m *model) current() *modelSet {
	all := slices.DeleteFunc(slices.Clone(m.sets), func(s *modelSet) bool { return s.Deleting || s.template != m.template })
	slices.SortFunc(all, func(a, b *modelSet) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

func (m *model) machine(uid types.UID) *modelMachine {
	for _, x := range m.machines {
		if x.UID == uid {
			return x
		}
	}
	return nil
}

// count returns the number of machines for which ok returns true.
func (m *model) count(ok func(*modelMachine) bool) (n int) {
	for _, x := range m.machines {
		if ok(x) {
			n++
		}
	}
	return n
}

func living(x *modelMachine) bool { return !x.Leaving }

// weight reports whether a machine counts against replicas and surge: it exists, or is deleted because of a
// rollout, so that its set does not replace it.
func (m *model) weight(x *modelMachine) bool {
	return !x.Leaving || m.p.LeavingTakesRoom && x.surplus
}

func (m *model) available(x *modelMachine) bool { return x.Available(m.now, m.p.MinReady) }

// write spends one write; false: the process has died before it.
func (m *model) write() bool {
	if m.crash == 0 {
		return false
	}
	m.crash--
	return true
}

// pass is one pass of the deployment's controller: it decides on the cached facts and carries the plan out
// until a write fails. Sets' controllers are at most one pass behind, because it is not visible whether they
// have seen that a set is held.
func (m *model) pass() {
	for _, s := range m.sets {
		m.hear(s)
	}
	m.plan = Decide(m.now, m.d, m.view(), m.p)
	m.carryOut(m.plan)
	m.crash = -1
}

func (m *model) carryOut(p Plan) bool {
	for _, a := range p.Actions {
		if !m.carry(p, a) {
			return false
		}
	}
	return true
}

func (m *model) carry(p Plan, a Action) bool {
	switch a := a.(type) {
	case RollBack:
		return m.rollBack(a)
	case Amend:
		return m.amend(a)
	case MarkVictims:
		return m.victims(a)
	case CreateSet:
		return m.create(p, a.SetWant)
	case MarkNodes:
		return m.nodes(a)
	case MarkNodesLate:
		return m.nodes(a)
	case HandOver:
		return m.moves(a)
	case ApplySet:
		return m.dress(a.SetWant)
	case Unprotect:
		return m.unshield(a)
	case DeleteSets:
		return m.deleteSets(a)
	case Report:
		m.record(p.Status)
	}
	return true
}

func (m *model) rollBack(r RollBack) bool {
	if !m.write() {
		return false
	}
	if r.To != nil {
		s := m.set(r.To.UID)
		if s == nil {
			return false
		}
		m.template = s.template
	}
	m.tell("rollout", "%s", r.Note)
	m.d.RollbackTo = nil
	return true
}

func (m *model) amend(a Amend) bool {
	if a.Rewish || a.Revision != 0 && a.Revision != m.d.Revision {
		if !m.write() {
			return false
		}
		m.d.Revision = cmp.Or(a.Revision, m.d.Revision)
		m.d.Wishes = a.Wishes
	}
	return true
}

// edit changes a machine, or its node, unless it has changed since it was read.
func (m *model) edit(uid types.UID, change func(*modelMachine)) (conflict, died bool) {
	i := slices.IndexFunc(m.shown, func(x modelMachine) bool { return x.UID == uid })
	x := m.machine(uid)
	if !m.write() {
		return false, true
	}
	if x == nil || m.shown[i].version != x.version {
		return true, false
	}
	change(x)
	x.version++
	m.shown[i] = *x
	return false, false
}

func (m *model) victims(all []Victim) bool {
	for _, v := range all {
		conflict, died := m.edit(v.UID, func(x *modelMachine) { x.Asked, x.Marked = true, v.At })
		if conflict || died {
			return false
		}
	}
	return true
}

func (m *model) nodes(all []NodeWant) bool {
	for _, n := range all {
		i := slices.IndexFunc(m.shown, func(x modelMachine) bool { return x.Name == n.Machine })
		if n.Note != "" {
			m.tell("rollout", "%s: %s", n.Node, n.Note)
		}
		_, died := m.edit(m.shown[i].UID, func(x *modelMachine) {
			x.Marks.Avoid, x.Marks.Stay, x.Update.Request = n.Avoid, n.Stay, n.Update.Request()
			if n.Update == inplace.WishRelease {
				x.Marks, x.Update = Marks{Stay: n.Stay}, inplace.Update{}
			}
		})
		if died {
			return false
		}
	}
	return true
}

func (m *model) create(p Plan, w SetWant) bool {
	if !m.write() {
		return false
	}
	if s := m.current(); s != nil {
		m.fail("a second set of template %s beside %s", m.template, s.Name)
	}
	m.serial++
	s := &modelSet{template: m.template, version: 1, generation: 1}
	s.Set = Set{
		UID: types.UID(fmt.Sprintf("uid-%s-%d", m.template, m.serial)), Name: "pool-" + m.template, Created: m.now,
		Replicas: w.Replicas, Revision: w.Revision, Desired: w.Desired, Max: w.Max,
	}
	m.onScale(s, w.Replicas)
	m.tell("rollout", "%s %s", s.Name, w.Note)
	m.sets = append(m.sets, s)
	m.shownSets = append(m.shownSets, *s)
	m.d.Revision = cmp.Or(p.Amendment().Revision, m.d.Revision)
	return true
}

func (m *model) moves(all []Move) bool {
	for _, v := range all {
		conflict, died := m.edit(v.UID, func(x *modelMachine) { x.set, x.Moved = v.To, true })
		if conflict || died {
			return false
		}
		m.tell("rollout", "%s is handed over: %s", v.Name, v.Note)
	}
	return true
}

func (m *model) dress(w SetWant) bool {
	i := slices.IndexFunc(m.shownSets, func(s modelSet) bool { return s.UID == w.UID })
	if !changes(m.shownSets[i].Set, w) {
		return true
	}
	s := m.set(w.UID)
	if !m.write() || s == nil || s.version != m.shownSets[i].version {
		return false
	}
	m.onSet(w)
	if w.Scales() {
		m.onScale(s, w.Replicas)
		m.tell("rollout", "%s %d->%d: %s", s.Name, w.Was, w.Replicas, w.Note)
		s.generation++
	}
	wear(&s.Set, w)
	s.version++
	m.shownSets[i] = *s
	return true
}

// changes reports whether w differs from s.
func changes(s Set, w SetWant) bool {
	after := s
	wear(&after, w)
	same := func(a, b *int) bool { return a == b || a != nil && b != nil && *a == *b }
	return after.Replicas != s.Replicas || after.Revision != s.Revision || after.Avoided != s.Avoided || after.NoGrowth != s.NoGrowth ||
		!same(after.Desired, s.Desired) || !same(after.Max, s.Max) ||
		!slices.Equal(after.Notes.Failed, s.Notes.Failed) || !after.Notes.CanarySince.Equal(s.Notes.CanarySince)
}

// wear applies w to s.
func wear(s *Set, w SetWant) {
	s.Replicas, s.Avoided, s.NoGrowth, s.Notes = w.Replicas, w.Avoided, w.NoGrowth, w.Notes
	s.Revision = cmp.Or(w.Revision, s.Revision)
	if w.Desired != nil {
		s.Desired = w.Desired
	}
	if w.Max != nil {
		s.Max = w.Max
	}
}

func (m *model) unshield(all []MachineRef) bool {
	for _, r := range all {
		if conflict, died := m.edit(r.UID, func(x *modelMachine) { x.Moved = false }); conflict || died {
			return false
		}
	}
	return true
}

func (m *model) deleteSets(all []SetRef) bool {
	for _, r := range all {
		if !m.write() {
			return false
		}
		s := m.set(r.UID)
		if s == nil {
			continue
		}
		m.tell("rollout", "%s is deleted: %s", s.Name, r.Note)
		s.Deleting = true
		s.version++
		i := slices.IndexFunc(m.shownSets, func(s modelSet) bool { return s.UID == r.UID })
		m.shownSets[i] = *s
	}
	return true
}

func (m *model) record(st Status) {
	if st.Faulty {
		m.d.Last.Progress = st.Progress
		return
	}
	m.d.Last = Last{Updated: st.Updated, Old: st.Replicas - st.Updated, Ready: st.Ready, Available: st.Available, Progress: st.Progress}
}
