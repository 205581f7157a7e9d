package decorate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// story drives a coalescing session at random beside a direct one, and demands
// of each answer what the engine's safety rests on.
type story struct {
	*world
	shared, direct provider.Session
	// made and removed hold what this process did last.
	made, removed map[string]bool
}

func newStory(t *rapid.T) *story {
	w := newWorld()
	class := w.cloud.Class(provider.OpenShift, "c")
	shared, err := decorate.Coalesce(w.provider(), w.clock, decorate.Reads{Enough: 2}).Open(context.Background(), class)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := w.cloud.Provider().Open(context.Background(), class)
	if err != nil {
		t.Fatal(err)
	}
	return &story{w, shared, direct, map[string]bool{}, map[string]bool{}}
}

func (s *story) machine(t *rapid.T) string {
	return fmt.Sprintf("m-%d", rapid.IntRange(0, 4).Draw(t, "machine"))
}

func (s *story) create(t *rapid.T) { s.createBy(t, s.shared) }

// createOutside creates around the decorator, as a former leader.
func (s *story) createOutside(t *rapid.T) { s.createBy(t, s.direct) }

func (s *story) createBy(t *rapid.T, session provider.Session) {
	name := s.machine(t)
	if s.removed[name] {
		return // a machine that is on its way out is never created again
	}
	if _, err := session.Create(context.Background(), ref(name), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	s.made[name] = true
}

func (s *story) remove(t *rapid.T) {
	name := s.machine(t)
	found, err := s.shared.Find(context.Background(), ref(name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.shared.Delete(context.Background(), ref(name), found); err != nil {
		t.Fatal(err)
	}
	s.removed[name] = true
}

// removeOutside kills an instance around the decorator.
func (s *story) removeOutside(t *rapid.T) {
	found, err := s.direct.Find(context.Background(), ref(s.machine(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range provider.Existing(found) {
		if err := s.cloud.Remove(provider.Class{}, i.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *story) refuseListings(t *rapid.T) {
	s.refuse[decorate.List] = provider.Errorf(provider.Transient, "no listing")
	if rapid.Bool().Draw(t, "again") {
		delete(s.refuse, decorate.List)
	}
}

func (s *story) pass(t *rapid.T) {
	s.clock.Step(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
}

func (s *story) find(t *rapid.T) {
	name := s.machine(t)
	shared, err := s.shared.Find(context.Background(), ref(name))
	if err != nil {
		t.Fatal(err)
	}
	truth, err := s.direct.Find(context.Background(), ref(name))
	if err != nil {
		t.Fatal(err)
	}
	shared, truth = provider.Existing(shared), provider.Existing(truth)
	switch {
	case len(shared) == 0 && len(truth) > 0:
		t.Fatalf("%s is reported as not there, and is", name)
	case len(shared) > 1:
		t.Fatalf("%s has %d instances", name, len(shared))
	case len(shared) == 1 && s.removed[name] && shared[0].State != provider.Stopping:
		t.Fatalf("%s is %s after its own delete", name, shared[0].State)
	case len(shared) == 1 && !s.made[name]:
		t.Fatalf("%s is reported and was never made", name)
	}
}

func TestCoalescingIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStory(t)
		t.Repeat(map[string]func(*rapid.T){
			"create": s.create, "create outside": s.createOutside, "remove": s.remove, "remove outside": s.removeOutside,
			"refuse listings": s.refuseListings, "pass": s.pass,
			"find": s.find, "find again": s.find, "and again": s.find,
		})
	})
}
