package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is a control plane whose machines live by the steps of plans. Nothing in it is timed: actors act in the order of the test.
type world struct {
	Set
	template int
	built    map[string]int // the template of each machine
	made     int
	log      []string
	fail     func(string, ...any)
}

func newWorld(strategy Strategy, fail func(string, ...any)) *world {
	w := &world{Set: Set{Replicas: 3, Strategy: strategy, Active: true}, built: map[string]int{}, fail: fail}
	for i := range w.Replicas {
		w.create(i).Ready = true
	}
	return w
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) create(index int32) *Machine {
	w.made++
	m := Machine{Name: fmt.Sprintf("m%02d-%d", w.made, index), Index: index, Created: start.Add(time.Duration(w.made) * time.Minute)}
	w.built[m.Name] = w.template
	w.Machines = append(w.Machines, m)
	return &w.Machines[len(w.Machines)-1]
}

func (w *world) machine(name string) *Machine {
	return &w.Machines[slices.IndexFunc(w.Machines, func(m Machine) bool { return m.Name == name })]
}

func (w *world) edit() {
	w.template++
	for i := range w.Machines {
		w.Machines[i].Outdated = true
	}
}

// pass decides once, checks the promises, and carries out as many steps as a controller does until it is killed.
func (w *world) pass(steps int) (done int) {
	p := Decide(w.Set)
	w.check(p)
	for _, d := range p.Decisions {
		if done == steps {
			break
		}
		switch d.Step {
		case Create:
			w.say("  index %d: create %s (%s)", d.Index, w.create(d.Index).Name, d.Reason)
			done++
		case Delete:
			w.say("  index %d: delete %s (%s)", d.Index, d.Machine, d.Reason)
			w.machine(d.Machine).Deleting = true
			done++
		}
	}
	return done
}

// check holds a plan to the promises.
func (w *world) check(p Plan) {
	creates, deletes := 0, 0
	for i, d := range p.Decisions {
		if i > 0 && p.Decisions[i-1].Index >= d.Index {
			w.fail("index %d has two decisions", d.Index)
		}
		var others []Machine
		for _, m := range w.Machines {
			if m.Index == d.Index && m.Name != d.Machine {
				others = append(others, m)
			}
		}
		switch d.Step {
		case Create:
			creates++
			if slices.ContainsFunc(others, func(m Machine) bool { return !m.Outdated && !m.Deleting }) {
				w.fail("a second replacement of index %d: %+v", d.Index, others)
			}
		case Delete:
			deletes++
			if !slices.ContainsFunc(others, func(m Machine) bool { return m.Ready && !m.Deleting && (!m.Outdated || d.Reason == Superseded) }) {
				w.fail("%s is deleted before its replacement is ready: %+v", d.Machine, others)
			}
			if m := w.machine(d.Machine); m.Deleting || w.Strategy == OnDelete {
				w.fail("%s is deleted, with %s", d.Machine, w.Strategy)
			}
		}
	}
	if deletes > 1 || w.Strategy == RollingUpdate && creates > 0 && len(w.Machines)+creates > int(w.Replicas)+maxSurge {
		w.fail("%d creations and %d deletions, of %d machines", creates, deletes, len(w.Machines))
	}
	mixed := w.Set
	mixed.Machines = slices.Clone(w.Machines)
	slices.Reverse(mixed.Machines)
	if a, b := said(p), said(Decide(mixed)); a != b {
		w.fail("%s, in another order %s", a, b)
	}
}

// settle lets new machines become ready and removes the others, and reports whether anything happened.
func (w *world) settle() (acted bool) {
	for i := range w.Machines {
		if m := &w.Machines[i]; !m.Ready && !m.Deleting {
			m.Ready, acted = true, true
			w.say("  %s is ready", m.Name)
		}
	}
	return acted
}

func (w *world) remove() (acted bool) {
	n := len(w.Machines)
	w.Machines = slices.DeleteFunc(w.Machines, func(m Machine) bool {
		if m.Deleting {
			w.say("  %s does not exist any more", m.Name)
		}
		return m.Deleting
	})
	return len(w.Machines) < n
}

// TestRollouts: whatever happens and whenever the controller is killed, the promises hold at each pass, and in the end all indexes have one
// machine of the last template.
func TestRollouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.SampledFrom([]Strategy{RollingUpdate, OnDelete}).Draw(t, "strategy"), t.Fatalf)
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			w.act(t)
		}
		for range 100 {
			if w.Strategy == OnDelete {
				w.obey()
			}
			if w.pass(99) == 0 && !w.settle() && !w.remove() {
				break
			}
		}
		if p := Decide(w.Set); said(p) != "" || len(w.Machines) != int(w.Replicas) {
			t.Fatalf("in the end: %s, %+v", said(p), w.Machines)
		}
	})
}

// obey is a user who deletes the machine that a decision or a condition names.
func (w *world) obey() {
	for _, index := range []int32{0, 1, 2} {
		var stays []*Machine
		for i := range w.Machines {
			if m := &w.Machines[i]; m.Index == index && !m.Deleting {
				stays = append(stays, m)
			}
		}
		if len(stays) > 1 || len(stays) == 1 && stays[0].Outdated {
			stays[0].Deleting = true
		}
	}
}

func (w *world) act(t *rapid.T) {
	m := &w.Machines[rapid.IntRange(0, len(w.Machines)-1).Draw(t, "machine")]
	// A control plane without a ready machine that stays is lost.
	spare := slices.ContainsFunc(w.Machines, func(o Machine) bool { return o.Ready && !o.Deleting && o.Name != m.Name })
	switch rapid.IntRange(0, 9).Draw(t, "who") {
	case 0:
		w.edit()
	case 1: // a user or a health check
		m.Deleting = m.Deleting || spare
	case 2:
		m.Ready = !m.Ready || !spare
	case 3:
		w.settle()
	case 4:
		if len(w.Machines) > 1 && m.Deleting {
			name := m.Name
			w.Machines = slices.DeleteFunc(w.Machines, func(m Machine) bool { return m.Name == name })
		}
	default:
		w.pass(rapid.IntRange(0, 2).Draw(t, "killed after"))
	}
}

// TestStories compares what happens in typical situations with golden files. UPDATE_GOLDEN=1 writes them.
func TestStories(t *testing.T) {
	for name, tell := range map[string]func(*world){
		"rolling-update": func(w *world) {
			w.say("A user edits the template, as RollingUpdate.")
			w.edit()
		},
		"on-delete": func(w *world) {
			w.Strategy = OnDelete
			w.say("A user edits the template, as OnDelete, and then deletes two machines.")
			w.edit()
			w.pass(99)
			w.Machines[0].Deleting, w.Machines[2].Deleting = true, true
		},
		"deleted-by-a-user": func(w *world) {
			w.say("A user deletes an up-to-date machine: its replacement is created first.")
			w.Machines[1].Deleting = true
		},
		"missing-during-an-update": func(w *world) {
			w.say("A machine disappears, and the others are outdated (K5).")
			w.edit()
			w.Machines = w.Machines[:2]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(RollingUpdate, t.Fatalf)
			tell(w)
			for round := 1; round < 40; round++ {
				w.say("pass %d: %s", round, said(Decide(w.Set)))
				if w.pass(99) == 0 && !w.settle() && !w.remove() {
					break
				}
			}
			golden(t, name, strings.Join(w.log, "\n")+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s", file, got)
	}
}
