package health

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// cluster is a fleet of one set whose machines become unhealthy, recover, are remediated and replaced in any
// order. The cohort sees all of it, at once or late.
type cluster struct {
	t        *rapid.T
	now      time.Time
	want     int
	most     int
	born     int
	machines []*Target
	// owed counts the machines that were remediated and are not replaced.
	w      *watched
	memory Memory
	mode   Mode
	// remedied are the machines that a plan deleted and that were not replaced; they may no longer exist.
	remedied map[types.UID]bool
}

func newCluster(t *rapid.T) *cluster {
	c := &cluster{t: t, now: t0, want: rapid.IntRange(1, 8).Draw(t, "want"), remedied: map[types.UID]bool{}}
	c.most = rapid.IntRange(0, c.want).Draw(t, "most")
	c.mode = rapid.SampledFrom([]Mode{Report, Enforce, Off}).Draw(t, "mode")
	c.w = watching(readyCheck(limit(fmt.Sprint(c.most)), mode(c.mode)))
	for range c.want {
		c.make()
	}
	return c
}

func (c *cluster) make() *Target {
	m := linked()
	c.born++
	m.UID, m.Name = types.UID(fmt.Sprintf("u%d", c.born)), fmt.Sprintf("m%d", c.born)
	m.Created, m.Updated = c.now, c.now
	m.NodeName, m.Node = "n", &Node{Name: "n", Conditions: []NodeCondition{{"Ready", "True", c.now}}}
	c.machines = append(c.machines, &m)
	return &m
}

func (c *cluster) pick() *Target {
	if len(c.machines) == 0 {
		c.t.Skip("there is none")
	}
	return c.machines[rapid.IntRange(0, len(c.machines)-1).Draw(c.t, "machine")]
}

func (c *cluster) flip() {
	m := c.pick()
	was := m.Node.Conditions[0].Status
	is := "True"
	if was == "True" {
		is = "Unknown"
	}
	m.Node = &Node{Name: "n", Conditions: []NodeCondition{{"Ready", is, c.now}}}
}

func (c *cluster) wait() {
	c.now = c.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(c.t, "seconds")) * time.Second)
}

// vanish ends the deletion of a machine.
func (c *cluster) vanish() {
	m := c.pick()
	if !m.Deleting {
		c.t.Skip("it stays")
	}
	for i, o := range c.machines {
		if o == m {
			c.machines = append(c.machines[:i], c.machines[i+1:]...)
			return
		}
	}
}

// replace creates a missing machine; sets also do so while the old one is under deletion.
func (c *cluster) replace() {
	staying := 0
	for _, m := range c.machines {
		if !m.Deleting {
			staying++
		}
	}
	if staying >= c.want {
		c.t.Skip("none is missing")
	}
	c.make()
}

// look updates the cohort with the present machines.
func (c *cluster) look() {
	there := map[types.UID]bool{}
	for _, m := range c.machines {
		there[m.UID] = true
		c.w.put(c.now, *m)
	}
	maps.DeleteFunc(c.w.machines, func(uid types.UID, _ *Judged) bool { return !there[uid] })
	c.w.tick(c.now)
}

// pass computes one plan and carries it out.
func (c *cluster) pass() {
	c.look()
	p := c.w.plan(c.now, Connectivity{Nodes: 100, Heard: c.now}, c.memory)
	c.memory = p.Memory
	for _, k := range p.Cases {
		if k.Act != Do {
			continue
		}
		for _, m := range c.machines {
			if m.UID == k.Target.UID {
				m.Deleting = true
			}
		}
	}
}

// lacking returns how many machines the fleet lacks because of remedies: machines under deletion and deleted
// ones without a replacement.
func (c *cluster) lacking() int {
	staying := 0
	for _, m := range c.machines {
		if !m.Deleting {
			staying++
		}
	}
	return max(0, c.want-staying)
}

func (c *cluster) actions() map[string]func(*rapid.T) {
	do := func(f func()) func(*rapid.T) { return func(t *rapid.T) { c.t = t; f() } }
	return map[string]func(*rapid.T){
		"flip": do(c.flip), "wait": do(c.wait), "vanish": do(c.vanish), "replace": do(c.replace), "pass": do(c.pass),
		"look": do(c.look),
	}
}

// Never are more machines remediated than may be unhealthy, for any order of events: C10.
func TestNeverMoreThanTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		a := c.actions()
		begin := c.now
		a[""] = func(t *rapid.T) {
			if c.now.Sub(begin) > rateWindow {
				return // after an hour the check no longer waits for a replacement
			}
			if n := c.lacking(); n > c.most {
				t.Fatalf("%d are given up and not replaced, %d may be", n, c.most)
			}
		}
		t.Repeat(a)
	})
}

// The budget is a number, or a percentage rounded down: 100 times the budget is at most the percentage of n.
func TestBudgetsAreAsDeclared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, total := rapid.IntRange(-5, 120).Draw(t, "number"), rapid.IntRange(0, 60).Draw(t, "machines")
		whole := 0
		for 100*(whole+1) <= total*max(0, min(n, 100)) {
			whole++
		}
		for text, want := range map[string]int{fmt.Sprint(n): max(0, n), fmt.Sprintf("%d%%", n): whole} {
			if l, err := ParseLimit(text); err != nil || l.Of(total) != want {
				t.Fatalf("%s of %d: %d (%v), declared are %d", text, total, l.Of(total), err, want)
			}
		}
	})
}

// Every machine that stays unhealthy is remediated once the budget has room and the breaker's limits have
// passed.
func TestTheSickAreRemediedInTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		if c.most == 0 {
			t.Skip("nothing may be remedied")
		}
		a := c.actions()
		t.Repeat(a)
		// From here on: machines under deletion are deleted and replaced, and all but one are healthy.
		for i := range 60 {
			c.now = c.now.Add(5 * time.Minute)
			for _, m := range append([]*Target{}, c.machines...) {
				if m.Deleting {
					for j, o := range c.machines {
						if o == m {
							c.machines = append(c.machines[:j], c.machines[j+1:]...)
							break
						}
					}
				}
			}
			for c.lacking() > 0 {
				c.make()
			}
			for j, m := range c.machines {
				status := "True"
				if j == 0 && i < 59 {
					status = "Unknown"
				}
				if m.Node.Conditions[0].Status != status {
					m.Node = &Node{Name: "n", Conditions: []NodeCondition{{"Ready", status, c.now}}}
				}
			}
			first := c.machines[0]
			c.pass()
			if first.Deleting {
				return
			}
		}
		t.Fatalf("the sick machine was never remedied: %s", c.w.plan(c.now, Connectivity{Nodes: 100}, c.memory).Sentence)
	})
}

// Without a connection nothing is remediated.
func TestTheBlindRemedyNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		t.Repeat(c.actions())
		c.look()
		p := c.w.plan(c.now, Connectivity{Blind: "it is dark"}, c.memory)
		if got := done(p); len(got) > 0 {
			t.Fatalf("remedied %v", got)
		}
	})
}

// A cohort that was updated change by change decides like one that reads everything for the first time.
func TestWardIsLikeAFreshOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		t.Repeat(c.actions())
		c.look()
		fresh := watching(c.w.check)
		for _, m := range c.machines {
			fresh.put(c.now, *m)
		}
		if len(fresh.machines) != len(c.w.machines) {
			t.Fatalf("fresh: %d machines, old: %d", len(fresh.machines), len(c.w.machines))
		}
		for uid, b := range fresh.machines {
			if v := c.w.machines[uid].Verdict; v != b.Verdict {
				t.Fatalf("%s: fresh %+v, old %+v", uid, b.Verdict, v)
			}
		}
	})
}

func BenchmarkPlanOutage(b *testing.B) {
	w := fleet(readyCheck(), names("m", 1000), sickFirst(600))
	b.ReportAllocs()
	for b.Loop() {
		w.plan(t0, seen, Memory{})
	}
}
