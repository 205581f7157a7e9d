package dialecttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Chapter is one pass over a machine: the engine decides on the given world, the effects happen as given, and
// the lens records the result.
type Chapter[M client.Object] struct {
	// Name is that of the golden file, without ".yaml". Reason says what to look for in it.
	Name, Reason string
	// From names the chapter with whose object this one begins; empty is the new object.
	From string
	// After is how long after From the pass happens.
	After time.Duration
	// Edit is the change of the object by other programs meanwhile; may be nil.
	Edit func(m M)
	// World is the world of the pass, Effects are the effects of steps on it.
	World   lifecycle.World
	Effects map[lifecycle.Step]func(*lifecycle.World)
	// Events are the expected events, as "Type Reason: Note".
	Events []string
}

// Story is a tree of chapters about one machine.
type Story[M client.Object] struct {
	Dialect dialect.Machines[M]
	Fresh   M
	// Dir has the golden files; Update rewrites them.
	Dir      string
	Update   bool
	Chapters []Chapter[M]
}

// page is the result of a chapter.
type page[M client.Object] struct {
	m  M
	at time.Time
}

// Check runs all chapters. Each object after Record is compared with its golden file, the events with the
// expected ones, and the same pass once more must report nothing.
func (s Story[M]) Check(t *testing.T) {
	t.Helper()
	pages := map[string]page[M]{"": {m: s.Fresh, at: Now}}
	for _, c := range s.Chapters {
		from, ok := pages[c.From]
		if !ok {
			t.Fatalf("chapter %q begins with %q, which was not told before it", c.Name, c.From)
		}
		t.Run(c.Name, func(t *testing.T) { pages[c.Name] = s.chapter(t, c, from) })
	}
}

func (s Story[M]) chapter(t *testing.T, c Chapter[M], from page[M]) page[M] {
	at := from.at.Add(c.After)
	before := clone(from.m)
	if c.Edit != nil {
		c.Edit(before)
	}
	o := s.pass(t, c, before, at)
	view, policy := s.Dialect.View(before), s.Dialect.Policy(before)
	if view.Stage = o.Stage; !o.Did(lifecycle.Replace) && !o.Did(lifecycle.RemoveFinalizer) {
		o.Preserve = lifecycle.Preserve(at, view, o.World, policy)
	}
	after := clone(before)
	s.Dialect.Record(after, o)

	events := texts(s.Dialect.Events(before, after, o))
	if !slices.Equal(events, c.Events) {
		t.Errorf("%s\nevents (-want +got)\n%s", c.Reason, cmp.Diff(c.Events, events))
	}
	if !o.Did(lifecycle.RemoveFinalizer) {
		s.repeat(t, after, o)
	}
	s.compare(t, c, after, o)
	return page[M]{m: after, at: at}
}

// pass lets the engine decide until it waits.
func (s Story[M]) pass(t *testing.T, c Chapter[M], m M, at time.Time) lifecycle.Outcome {
	t.Helper()
	view, policy := s.Dialect.View(m), s.Dialect.Policy(m)
	o := lifecycle.Outcome{World: c.World, At: at}
	o.World.Requests = view.Recorded.Requests
	for range 20 {
		o.Decision = lifecycle.DecideLife(at, view, o.World, policy)
		if o.Waits() {
			return o
		}
		o.Steps = append(o.Steps, o.Decision)
		switch o.Step {
		case lifecycle.Fail, lifecycle.Replace, lifecycle.RemoveFinalizer:
			return o
		case lifecycle.AddFinalizer, lifecycle.RecordRequest:
			view.HasFinalizer, view.Recorded.Origin = true, &o.World.Session.Origin
			if o.World.Requests.Open() == nil {
				o.World.Requests = o.World.Requests.Next(at, "")
			}
			view.Recorded.Requests = o.World.Requests
			continue
		}
		effect, ok := c.Effects[o.Step]
		if !ok {
			t.Fatalf("the engine comes to %s (%s), of which chapter %q says nothing", o.Step, o.Reason, c.Name)
		}
		effect(&o.World)
		if o.Step == lifecycle.MarkUpdate && o.Stage != view.Stage {
			view.Stage, view.StageSince = o.Stage, at
		}
	}
	t.Fatal("a pass without an end")
	return o
}

// repeat checks that a retry with the same result is not reported again, and writes nothing.
func (s Story[M]) repeat(t *testing.T, m M, o lifecycle.Outcome) {
	t.Helper()
	o.World.Retry.Told = o.At
	o.At = o.At.Add(time.Minute)
	o.World.Retry.Failures++
	o.Overdue, o.Preserve.Wish.Told = false, true // the controller reports that once
	again := clone(m)
	s.Dialect.Record(again, o)
	if d := cmp.Diff(m, again); d != "" {
		t.Errorf("the same outcome a minute later writes\n%s", d)
	}
	if e := texts(s.Dialect.Events(m, again, o)); len(e) > 0 && !o.Did(lifecycle.Fail) {
		t.Errorf("the same outcome a minute later is reported again: %q", e)
	}
}

func texts(events []dialect.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Type+" "+e.Reason+": "+e.Note)
	}
	return out
}

func (s Story[M]) compare(t *testing.T, c Chapter[M], m M, o lifecycle.Outcome) {
	t.Helper()
	raw, err := yaml.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("# %s\n# Before: %s. Pass: %s.\n%s", c.Reason, origin(c.From), path(o), raw)
	file := filepath.Join(s.Dir, c.Name+".yaml")
	if s.Update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s\n%s (-want +got)\n%s", c.Reason, file, d)
	}
}

func origin(from string) string {
	if from == "" {
		return "the object as a user creates it"
	}
	return from + ".yaml"
}

func path(o lifecycle.Outcome) string {
	var steps []string
	for _, d := range o.Steps {
		steps = append(steps, string(d.Step))
	}
	if o.Waits() {
		steps = append(steps, string(o.Step))
	}
	return strings.Join(steps, ", ") + " (" + string(o.Reason) + ")"
}
