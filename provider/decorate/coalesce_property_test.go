package decorate_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// story runs random operations on a coalescing session and on a direct one, and checks each answer for the
// properties that the engine's safety depends on.
type story struct {
	*world
	shared, direct provider.Session
	// made and removed have the last operation of each machine. created and left have what this process
	// knows: the ID of the instance that it created, and whether it deleted one.
	made, removed map[string]bool
	created       map[string]string
	left          map[string]bool
	// most is the read lag that the infrastructure declares, lag the actual one.
	most, lag time.Duration
}

func newStory(t *rapid.T) *story {
	w := newWorld()
	class := w.cloud.Class(provider.OpenShift, "c")
	most := time.Duration(rapid.IntRange(0, 6).Draw(t, "lag at most")) * time.Second
	shared, err := decorate.Coalesce(late{w.provider(), most}, w.clock, decorate.Reads{Enough: 2}).Open(context.Background(), class)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := w.cloud.Provider().Open(context.Background(), class)
	if err != nil {
		t.Fatal(err)
	}
	return &story{
		world: w, shared: shared, direct: direct, most: most,
		made: map[string]bool{}, removed: map[string]bool{}, created: map[string]string{}, left: map[string]bool{},
	}
}

func (s *story) machine(t *rapid.T) string {
	return fmt.Sprintf("m-%d", rapid.IntRange(0, 4).Draw(t, "machine"))
}

func (s *story) create(t *rapid.T) {
	if name, i := s.createBy(t, s.shared); i.Exists() && i.ID != "" {
		s.created[name] = i.ID
	}
}

// createOutside creates around the decorator, as a former leader would.
func (s *story) createOutside(t *rapid.T) { s.createBy(t, s.direct) }

func (s *story) createBy(t *rapid.T, session provider.Session) (name string, i provider.Instance) {
	name = s.machine(t)
	if s.removed[name] {
		return name, i // a machine under deletion is never created again
	}
	i, err := session.Create(context.Background(), ref(name), provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	s.made[name] = true
	return name, i
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
	s.left[name] = s.left[name] || len(provider.Existing(found)) > 0
}

// removeOutside terminates an instance around the decorator.
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

// drift changes the read lag, up to the declared one.
func (s *story) drift(t *rapid.T) {
	s.behind(t, time.Duration(rapid.Int64Range(0, int64(s.most)).Draw(t, "lag")))
}

func (s *story) behind(t *rapid.T, lag time.Duration) {
	s.lag = lag
	if err := s.cloud.Lag(lag); err != nil {
		t.Fatal(err)
	}
}

// truth returns the existing instances of the machine.
func (s *story) truth(t *rapid.T, name string) []provider.Instance {
	defer s.behind(t, s.lag)
	s.behind(t, 0)
	found, err := s.direct.Find(context.Background(), ref(name))
	if err != nil {
		t.Fatal(err)
	}
	return provider.Existing(found)
}

func (s *story) find(t *rapid.T) {
	name, before := s.machine(t), s.count(decorate.Find)
	shared, err := s.shared.Find(context.Background(), ref(name))
	if err != nil {
		t.Fatal(err)
	}
	shared = provider.Existing(shared)
	// A lagging infrastructure shows every caller the past. Answers from a listing have to meet a stricter
	// check.
	listed := s.count(decorate.Find) == before
	is := func(i provider.Instance) bool { return i.ID == s.created[name] }
	switch {
	case len(shared) == 0 && listed:
		t.Fatalf("%s is not there, says a listing", name)
	case len(shared) == 0 && s.lag == 0 && len(s.truth(t, name)) > 0:
		t.Fatalf("%s is reported as not there, and is", name)
	case len(shared) > 1:
		t.Fatalf("%s has %d instances", name, len(shared))
	case len(shared) == 1 && s.left[name] && listed && shared[0].State != provider.Stopping:
		t.Fatalf("%s is %s after its own delete", name, shared[0].State)
	case len(shared) == 1 && !s.made[name]:
		t.Fatalf("%s is reported and was never made", name)
	case listed && s.created[name] != "" && !slices.ContainsFunc(shared, is):
		t.Fatalf("%s was made with %s, and has %v", name, s.created[name], shared)
	}
}

func TestCoalescingIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStory(t)
		t.Repeat(map[string]func(*rapid.T){
			"create": s.create, "create outside": s.createOutside, "remove": s.remove, "remove outside": s.removeOutside,
			"refuse listings": s.refuseListings, "pass": s.pass, "drift": s.drift, "remove again": s.remove,
			"find": s.find, "find again": s.find, "and again": s.find,
		})
	})
}
