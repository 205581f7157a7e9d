package rollout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story is a rollout line by line: when, how many machines are available of how many wanted (and how many are
// under deletion), who does what, and why. The order of events in the world depends on the seed.
type story struct {
	// about is the first line: what to look for.
	about string
	d     Deployment
	p     Policy
	// world changes the model before the story begins, scenes change it later.
	world  func(*model)
	scenes []scene
	// end is when it ends if nothing was completed.
	end time.Duration
}

// scene is an action of an actor at a time.
type scene struct {
	at  time.Duration
	who string
	// says is its text in the story.
	says string
	does func(*model)
}

func edits(template string) scene {
	return scene{who: "user", says: "changes the template to " + template, does: func(m *model) { m.template = template }}
}

func (s scene) later(at time.Duration) scene {
	s.at = at
	return s
}

func scales(n int) scene {
	return scene{who: "user", says: fmt.Sprintf("wants %d machines", n), does: func(m *model) { m.d.Replicas = n }}
}

// storyWriter writes a story down.
type storyWriter struct {
	*model
	begin        time.Time
	lines        []string
	reason       Reason
	waiting      string
	most, fewest int
	told         bool
}

func (s story) tell(seed uint64) *storyWriter {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := newModel(s.d, s.p, func(_ string, n int) int { return rng.IntN(n) })
	m.fail = func(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
	if s.world != nil {
		s.world(m)
	}
	m.rest()
	t := &storyWriter{model: m, begin: m.now, reason: m.d.Last.Progress.Reason, fewest: m.d.Replicas}
	m.tell = func(who, format string, args ...any) {
		if !strings.HasPrefix(who, "set ") {
			t.line(who, fmt.Sprintf(format, args...))
		}
	}
	scenes := s.scenes
	for m.now.Sub(t.begin) <= s.end {
		for len(scenes) > 0 && m.now.Sub(t.begin) >= scenes[0].at {
			t.line(scenes[0].who, scenes[0].says)
			scenes[0].does(m)
			scenes = scenes[1:]
		}
		t.told = false
		m.round(30 * time.Second)
		t.after()
		if m.d.Last.Progress.Reason == SetAvailable && len(scenes) == 0 && m.count(living) == len(m.machines) {
			break
		}
	}
	t.lines = append(t.lines, fmt.Sprintf("There were at most %d machines, and at least %d available.", t.most, t.fewest))
	return t
}

func (t *storyWriter) line(who, what string) {
	t.told = true
	at := t.now.Sub(t.begin)
	numbers := make([]string, 0, len(t.sets))
	for _, s := range t.sets {
		of := func(ok func(*modelMachine) bool) int {
			return t.count(func(x *modelMachine) bool { return x.set == s.UID && ok(x) })
		}
		n := fmt.Sprintf("%s %d/%d", s.template, of(t.available), s.Replicas)
		if leaving := of(func(x *modelMachine) bool { return x.Leaving }); leaving > 0 {
			n += fmt.Sprintf("-%d", leaving)
		}
		numbers = append(numbers, n)
	}
	t.lines = append(t.lines, strings.TrimRight(fmt.Sprintf("%02d:%02d  %-22s %-8s %s", int(at.Minutes()), int(at.Seconds())%60, strings.Join(numbers, ", "), who, what), " "))
}

// after handles the end of a round: each wait is written once, and so is each change of the condition.
func (t *storyWriter) after() {
	t.most = max(t.most, t.count(t.weight))
	t.fewest = min(t.fewest, t.count(t.available))
	if p := t.d.Last.Progress; p.Reason != t.reason && t.crash < 0 {
		t.reason, t.waiting = p.Reason, t.plan.Status.Waiting
		t.line("status", fmt.Sprintf("%s %s: %s", p.Status, p.Reason, p.Message))
	} else if w := t.plan.Status.Waiting; !t.told && w != t.waiting {
		t.waiting = w
		if w != "" {
			t.line("rollout", w)
		}
	}
}

func TestStories(t *testing.T) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			got := "# " + s.about + "\n" + strings.Join(s.tell(1).lines, "\n") + "\n"
			file := filepath.Join("testdata", "stories", name+".txt")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the story goes another way (-want +got)\n%s", diff)
			}
			// It ends the same for any order.
			a := s.tell(1)
			for seed := range uint64(6) {
				if b := s.tell(seed); a.template != b.template || a.d.Last.Progress.Reason != b.d.Last.Progress.Reason {
					t.Errorf("seed 1 ends with template %s and %s, seed %d with template %s and %s",
						a.template, a.d.Last.Progress.Reason, seed, b.template, b.d.Last.Progress.Reason)
				}
			}
		})
	}
}
