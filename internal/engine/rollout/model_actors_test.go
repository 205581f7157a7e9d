package rollout

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// hear lets the set's controller read its set.
func (m *model) hear(s *modelSet) {
	s.heard.replicas, s.heard.generation, s.heard.held = s.Replicas, s.generation, s.NoGrowth
}

// runSet is one pass of a set's own controller, with its last read of the set.
func (m *model) runSet(s *modelSet) {
	if s.heard.generation == 0 {
		m.hear(s)
	}
	facts := replicas.Set{Replicas: s.heard.replicas, Deleting: s.Deleting, Scaled: m.now}
	if s.heard.held {
		facts.NoGrowth = "held"
	}
	decision := replicas.Decide(m.now, facts, m.members(s), m.setPol)
	if s.Deleting && decision.Finished {
		m.sets = slices.DeleteFunc(m.sets, func(x *modelSet) bool { return x == s })
		return
	}
	for range decision.Create {
		m.make(s)
	}
	for _, v := range decision.Delete {
		m.remove(m.machine(v.UID), v.Reason == replicas.WhySurplus)
	}
	if decision.Acts() {
		m.tell("set "+s.template, "%s", decision.Message)
	}
	if s.observed != s.heard.generation {
		s.observed = s.heard.generation
		s.version++
	}
}

func (m *model) members(s *modelSet) (out []replicas.Member) {
	for _, x := range m.machines {
		if x.set != s.UID {
			continue
		}
		v := replicas.Member{
			UID: x.UID, Name: x.Name, Created: x.Created, Leaving: x.Leaving, Failed: x.Failed, Shielded: x.Moved,
			Preservation: x.Preservation, Phase: replicas.PhaseRunning, Priority: 3, Marked: x.Marked,
		}
		switch {
		case x.Failed:
			v.Phase = replicas.PhaseFailed
		case !x.Usable:
			v.Phase = replicas.PhasePending
		}
		if x.Asked {
			v.Priority = 1
		}
		out = append(out, v)
	}
	return out
}

// some is d, up to twice as long.
func (m *model) some(what string, d time.Duration) time.Time {
	return m.now.Add(d + d*time.Duration(m.chance(what, 5))/4)
}

func (m *model) make(s *modelSet) {
	m.serial++
	m.created++
	x := &modelMachine{set: s.UID, template: s.template, version: 1, readyAt: m.some("start", m.start)}
	x.Member = replicas.Member{UID: types.UID(fmt.Sprintf("uid-m%d", m.serial)), Name: fmt.Sprintf("%s%02d", s.template, m.serial), Created: m.now}
	m.machines = append(m.machines, x)
}

func (m *model) remove(x *modelMachine, surplus bool) {
	if x.Leaving {
		return
	}
	m.removed++
	x.Leaving, x.surplus, x.goneAt = true, surplus, m.some("leave", m.leave)
	x.version++
}

// spoil makes a machine fail for good.
func (m *model) spoil(x *modelMachine) {
	x.Failed, x.Ready, x.Usable, x.ReadySince = true, false, false, time.Time{}
	x.version++
}

// givenUpAfter is after how long a machine that did not join has failed, and one whose update in place
// failed.
const givenUpAfter = 20 * time.Minute

// tick lets time pass, and machines progress.
func (m *model) tick(d time.Duration) {
	m.now = m.now.Add(d)
	m.machines = slices.DeleteFunc(m.machines, func(x *modelMachine) bool { return x.Leaving && !m.now.Before(x.goneAt) })
	for _, x := range m.machines {
		switch {
		case x.Leaving || x.Failed:
		case !x.Joined && m.spoilt[x.template]:
			if m.now.Sub(x.Created) >= givenUpAfter {
				m.spoil(x)
			}
		case !x.Joined:
			if !m.now.Before(x.readyAt) {
				x.Joined, x.Ready, x.Usable, x.ReadySince = true, true, true, m.now
				x.Node, x.Seen = "node-"+x.Name, true
				x.version++
			}
		default:
			m.updateNode(x)
		}
	}
}

// updateNode is the machine's controller and the node's agent, in an update in
// place.
func (m *model) updateNode(x *modelMachine) {
	before, u := *x, &x.Update
	switch state := u.State(); {
	case u.Mark == inplace.MarkNone:
		u.Mark = u.Due(false)
	case state == inplace.Selected:
		u.Mark, u.Phase, x.Ready, x.Usable, x.endAt = inplace.MarkReady, inplace.PhaseUpdating, false, false, m.some("update", m.update)
	case state == inplace.Updating && !m.now.Before(x.endAt):
		if m.failing > 0 && m.chance("update fails", m.failing) == 0 {
			u.Answer, u.Mark, u.Phase, x.endAt = inplace.AnswerFailed, inplace.MarkFailed, inplace.PhaseFailed, m.now.Add(givenUpAfter)
			break
		}
		u.Answer, u.Mark, u.Phase, x.Ready, x.Usable, x.ReadySince = inplace.AnswerDone, inplace.MarkUpdated, inplace.PhaseRunning, true, true, m.now
		x.template, x.updated = m.template, true
	case state == inplace.Failed && !m.now.Before(x.endAt):
		m.spoil(x)
	}
	if x.Machine != before.Machine {
		x.version++
	}
}

// selectByHand is a user who selects a candidate if one may be unavailable.
func (m *model) selectByHand() {
	busy := m.count(func(x *modelMachine) bool {
		return x.busy() || x.Update.State() == inplace.Done || x.Update.State() == inplace.Failed && !x.Leaving
	})
	if busy > 0 {
		return
	}
	for _, x := range m.machines {
		if x.Update.State() == inplace.Candidate && x.Update.Mark == inplace.MarkCandidate && !x.Leaving && m.set(x.set) != m.current() {
			x.Update.Request = inplace.RequestSelected
			x.version++
			m.tell("user", "selects %s", x.Name)
			return
		}
	}
}

// round lets all actors act once, in random order, and time pass.
func (m *model) round(d time.Duration) {
	actors := []func(){m.deliver, m.pass}
	for _, s := range m.sets {
		actors = append(actors, func() {
			m.hear(s)
			m.runSet(s)
		})
	}
	for len(actors) > 0 {
		i := m.chance("actor", len(actors))
		actors[i]()
		actors = slices.Delete(actors, i, i+1)
	}
	if m.d.ByHand {
		m.selectByHand()
	}
	if m.diligent {
		m.deleteByHand()
	}
	m.tick(d)
}

// deleteByHand is a user who deletes an old machine if none is under deletion.
func (m *model) deleteByHand() {
	for _, x := range m.machines {
		if x.Leaving {
			return
		}
	}
	for _, x := range m.machines {
		if m.current() != nil && x.set != m.current().UID {
			m.tell("user", "deletes %s", x.Name)
			m.remove(x, false)
			return
		}
	}
}

// settle lets rounds pass until nothing is left to do and the rollout is
// complete.
func (m *model) settle(rounds int) bool {
	for range rounds {
		m.round(30 * time.Second)
		m.deliver()
		plan := Decide(m.now, m.d, m.view(), m.p)
		quiet := m.count(func(x *modelMachine) bool { return x.Leaving }) == 0 &&
			!slices.ContainsFunc(m.sets, func(s *modelSet) bool { return s.Deleting || s.observed < s.generation })
		if plan.Status.Complete && m.unchanged(plan) && quiet {
			return true
		}
	}
	return false
}

// unchanged reports whether the plan would write nothing.
func (m *model) unchanged(p Plan) bool {
	for _, w := range p.Sets() {
		if changes(m.set(w.UID).Set, w) {
			return false
		}
	}
	numbered := p.Amendment().Revision == 0 || p.Amendment().Revision == m.d.Revision
	return numbered && p.Status.Progress == m.d.Last.Progress && p.Create() == nil && p.RollBack() == nil && !p.Amendment().Rewish && len(p.Victims())+len(p.Nodes())+len(p.Moves())+len(p.Unprotect())+len(p.Delete()) == 0
}

// rest creates the deployment's first set, all of it available.
func (m *model) rest() {
	if !m.settle(200) {
		m.fail("never came to rest at the beginning: %s", m.dump())
	}
	m.created, m.removed = 0, 0
}

// dump shows everything, for failures.
func (m *model) dump() string {
	out := fmt.Sprintf("%s template %s replicas %d waiting %q progress %+v", m.now.Format(time.TimeOnly), m.template, m.d.Replicas, m.plan.Status.Waiting, m.d.Last.Progress)
	for _, s := range m.sets {
		out += fmt.Sprintf("\n%s (%s) template %s wants %d held %v deleting %v observed %d/%d notes %v", s.Name, s.UID, s.template, s.Replicas, s.NoGrowth, s.Deleting, s.observed, s.generation, s.Notes)
		for _, x := range m.machines {
			if x.set == s.UID {
				out += fmt.Sprintf("\n  %s leaving %v failed %v usable %v moved %v update %s %+v marks %+v", x.Name, x.Leaving, x.Failed, x.Usable, x.Moved, x.Update.State(), x.Update, x.Marks)
			}
		}
	}
	return out
}
