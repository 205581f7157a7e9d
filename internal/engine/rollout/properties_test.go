package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/inplace"
)

// bound is a number or a percentage.
func bound(v string) *intstr.IntOrString {
	out := intstr.Parse(v)
	return &out
}

var strategies = []Strategy{Rolling, Recreate, OnDelete, InPlace}

func drawDeployment(t *rapid.T, among ...Strategy) (Deployment, Policy) {
	bounds := rapid.SampledFrom([]string{"0", "1", "2", "25%", "34%", "100%"})
	d := Deployment{
		Replicas: rapid.IntRange(1, 6).Draw(t, "replicas"),
		Strategy: rapid.SampledFrom(among).Draw(t, "strategy"),
		Surge:    bound(bounds.Draw(t, "surge")), Unavailable: bound(bounds.Draw(t, "unavailable")),
		Deadline: 10 * time.Minute,
	}
	if rapid.Bool().Draw(t, "prunes") {
		n := rapid.IntRange(0, 2).Draw(t, "limit")
		d.HistoryLimit = &n
	}
	d.ByHand = d.Strategy == InPlace && rapid.IntRange(0, 3).Draw(t, "by hand") == 0
	return d, Policy{
		LeavingTakesRoom: d.Strategy != OnDelete && rapid.IntRange(0, 4).Draw(t, "overlap") != 0, StatusCountsLeaving: rapid.Bool().Draw(t, "counts leaving"),
		Cascade: true, AvoidOld: true, StayDuringRollout: rapid.Bool().Draw(t, "stay"),
		MinReady: time.Duration(rapid.IntRange(0, 1).Draw(t, "min ready")) * time.Minute,
	}
}

func drawModel(t *rapid.T, among ...Strategy) *model {
	d, p := drawDeployment(t, among...)
	m := newModel(d, p, func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) })
	m.fail = func(format string, args ...any) {
		t.Helper()
		t.Fatalf(format+"\n%s", append(args, m.dump())...)
	}
	if testing.Verbose() {
		m.tell = func(who, format string, args ...any) {
			t.Logf("%s %s: "+format, append([]any{m.now.Format(time.TimeOnly), who}, args...)...)
		}
	}
	m.rest()
	return m
}

// act lets one random actor act once. The cache and the sets' controllers lag behind at random, and passes
// are interrupted.
func (m *model) act() {
	switch m.chance("who", 10) {
	case 0, 1:
		m.deliver()
	case 2, 3, 4:
		if m.chance("cut short", 6) == 0 {
			m.crash = m.chance("after writes", 5)
		}
		m.pass()
	case 5, 6, 7:
		if len(m.sets) == 0 {
			return
		}
		s := m.sets[m.chance("set", len(m.sets))]
		if m.chance("hears", 4) != 0 {
			m.hear(s)
		}
		m.runSet(s)
	default:
		m.tick(time.Duration(1+m.chance("minutes", 4)) * 30 * time.Second)
		if m.d.ByHand {
			m.selectByHand()
		}
	}
}

// change is a user's new template.
func (m *model) change() {
	m.template = string(rune('a' + m.chance("template", 4)))
	m.tell("user", "wants template %s", m.template)
}

// meddle is a user, or a mishap.
func (m *model) meddle() {
	switch m.chance("meddle", 12) {
	case 0, 1:
		m.d.Replicas = m.chance("replicas", 7)
		m.tell("user", "wants %d machines", m.d.Replicas)
	case 2, 3:
		m.change()
	case 4:
		m.d.Paused = !m.d.Paused
		m.tell("user", "paused %v", m.d.Paused)
	case 5:
		n := int64(m.chance("revision", 4))
		m.d.RollbackTo = &n
		m.tell("user", "wants revision %d", n)
	case 6:
		m.d.Guard.Approved = m.d.Revision
	case 7:
		m.d.Strategy = strategies[m.chance("strategy", len(strategies))]
		m.tell("user", "wants %s", m.d.Strategy)
	case 8:
		frozen(&m.d)
		if m.chance("thaws", 2) == 0 {
			m.d.Frozen = ""
		}
	case 9:
		m.name()
	default:
		m.mishap()
	}
}

// name is an autoscaler that wants one machine deleted, without a replacement.
func (m *model) name() {
	if len(m.machines) == 0 || m.d.Replicas == 0 {
		return
	}
	x := m.machines[m.chance("named", len(m.machines))]
	if !x.Leaving && !x.Asked {
		m.tell("autoscaler", "wants %s gone", x.Name)
		x.Asked = true
		x.version++
		m.d.Replicas--
	}
}

// mishap affects a machine, or a set.
func (m *model) mishap() {
	if len(m.machines) == 0 {
		return
	}
	x := m.machines[m.chance("machine", len(m.machines))]
	switch m.chance("mishap", 5) {
	case 0, 1:
		if !x.Leaving {
			m.tell("mishap", "%s fails", x.Name)
			m.spoil(x)
			if m.chance("kept", 4) == 0 {
				x.Preservation.Until = m.now.Add(1000 * time.Hour)
			}
		}
	case 2, 3:
		m.tell("user", "deletes %s", x.Name)
		m.remove(x, false)
	default:
		if s := m.set(x.set); s != nil {
			m.tell("user", "deletes set %s", s.Name)
			s.Deleting = true
			s.version++
		}
	}
}

// A rollout keeps within its bounds at every moment, for any lag and any crash. The promise: no more machines
// than replicas and surge, including those that are deleted because of the rollout (unless new ones may
// overlap with them), and never fewer available than replicas less unavailable. Not included are machines
// that sets replace because they failed, or because a user deleted them; this test has none of those. A machine that
// has not been ready for long enough counts as available here: its set may keep it and delete another one
// that is available.
func TestRolloutStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, Rolling, InPlace)
		surge, unavailable := declaredBounds(m.d)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if m.chance("edit", 12) == 0 {
				m.change()
			}
			m.act()
			if n := m.count(m.weight); n > m.d.Replicas+surge {
				m.fail("%d machines, %d and %d surge allowed", n, m.d.Replicas, surge)
			}
			if n := m.count(func(x *modelMachine) bool { return x.Usable && !x.Leaving }); n < m.d.Replicas-unavailable {
				m.fail("%d machines available, %d less %d needed", n, m.d.Replicas, unavailable)
			}
		}
	})
}

// After the last user action and mishap, every rollout becomes complete, and leaves nothing behind.
func TestRolloutConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, strategies...)
		m.failing = rapid.SampledFrom([]int{0, 4}).Draw(t, "failing")
		m.d.Guard = drawGuard(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if m.chance("meddle at all", 4) == 0 {
				m.meddle()
			}
			m.act()
		}
		m.calm()
		if !m.settle(400) {
			m.fail("does not converge")
		}
		m.clean()
	})
}

func drawGuard(t *rapid.T) Guard {
	g := Guard{}
	if rapid.IntRange(0, 2).Draw(t, "guarded") != 0 {
		return g
	}
	g.MaxFailures = rapid.IntRange(0, 2).Draw(t, "most failures")
	g.RollBack = rapid.Bool().Draw(t, "goes back")
	if rapid.Bool().Draw(t, "canary") {
		g.Canary = bound(rapid.SampledFrom([]string{"1", "2", "50%"}).Draw(t, "canary of"))
		g.Soak = time.Duration(rapid.IntRange(1, 5).Draw(t, "soak")) * time.Minute
	}
	return g
}

// calm ends all meddling. No machine is kept any longer, and users perform the actions that the rollout waits
// for.
func (m *model) calm() {
	m.tell("everybody", "calms down")
	m.d.Paused, m.d.Frozen, m.failing, m.d.Guard.MaxFailures = false, "", 0, 0
	m.diligent = m.d.Strategy == OnDelete
	for _, x := range m.machines {
		x.Preservation.Until = time.Time{}
		x.version++
	}
}

// clean looks for leftovers of a rollout.
func (m *model) clean() {
	for _, x := range m.machines {
		if m.set(x.set) != m.current() {
			m.fail("%s is not of the present set", x.Name)
		}
		if x.Marks != (Marks{}) || x.Update.Request != inplace.RequestNone || x.Update.Answer != inplace.AnswerNone || x.Moved {
			m.fail("%s is still marked: %+v %+v", x.Name, x.Marks, x.Update)
		}
		if !x.updated && x.template != m.template {
			m.fail("%s is of template %s", x.Name, x.template)
		}
	}
	if p := m.d.Last.Progress; p.Reason != SetAvailable || p.Status != True {
		m.fail("complete, and says %v %s", p.Status, p.Reason)
	}
	if c := m.current(); c.NoGrowth || len(c.Notes.Failed) > 0 || c.Revision != m.d.Revision {
		m.fail("the present set is left as %+v", c.Set)
	}
	if most := m.d.HistoryLimit; most != nil && len(m.sets) > *most+1 {
		m.fail("%d sets are left", len(m.sets))
	}
}
