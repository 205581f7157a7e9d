package decorate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// fleet returns a coalescing session over n running instances m-000 and so on.
func fleet(t *testing.T, w *world, n int) (provider.Session, []string) {
	t.Helper()
	names := make([]string, n)
	for k := range names {
		names[k] = fmt.Sprintf("m-%03d", k)
	}
	mustCreate(t, w, open(t, w, w.provider()), names...)
	w.reset()
	return open(t, w, decorate.Coalesce(w.provider(), w.clock, decorate.Reads{})), names
}

func mustFind(t *testing.T, s provider.Session, name string) []provider.Instance {
	t.Helper()
	found, err := s.Find(t.Context(), ref(name))
	if err != nil {
		t.Fatalf("find %s: %v", name, err)
	}
	return found
}

func TestManyFindsShareOneListing(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 100)
	for _, n := range names {
		if found := mustFind(t, s, n); len(found) != 1 || found[0].Name != n {
			t.Fatalf("find %s: %v", n, found)
		}
	}
	if f, l := w.count(decorate.Find), w.count(decorate.List); f != 7 || l != 1 {
		t.Errorf("%d Finds and %d Lists reach the infrastructure, want 7 (then it pays) and 1", f, l)
	}
	w.clock.Step(21 * time.Second)
	mustFind(t, s, names[0])
	if f := w.count(decorate.Find); f != 8 {
		t.Errorf("an old listing answers: %d Finds, want 8", f)
	}
}

// TestClassesShareAListing: a spec that does not restrict the listing is no scope of its own, so that a
// rollout from one class to another costs no more. Without a trait of the session, each spec is a scope.
func TestClassesShareAListing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		wrap   func(provider.Provider) provider.Provider
		lists  int
	}{
		"a scope":  {"one place, whatever spec and zone say", func(p provider.Provider) provider.Provider { return p }, 1},
		"no scope": {"three places", func(p provider.Provider) provider.Provider { return plainProvider{p} }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			_, names := fleet(t, w, 40)
			p := decorate.Coalesce(tc.wrap(w.provider()), w.clock, decorate.Reads{Enough: 2})
			for _, says := range [][2]string{{"small", "a"}, {"large", "a"}, {"large", "b"}} {
				class := w.cloud.Class(provider.OpenShift, "c")
				class.Spec, class.Zone = fmt.Appendf(nil, `{"size":%q}`, says[0]), says[1]
				s, err := p.Open(t.Context(), class)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range names[:20] {
					mustFind(t, s, n)
				}
			}
			if n := w.count(decorate.List); n != tc.lists {
				t.Errorf("%s: %d listings for three classes, want %d", tc.reason, n, tc.lists)
			}
		})
	}
}

func TestFewFindsAreDirect(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 3)
	for range 3 {
		for _, n := range names {
			mustFind(t, s, n)
		}
		w.clock.Step(time.Minute)
	}
	if l := w.count(decorate.List); l != 0 {
		t.Errorf("%d Lists for three Finds a minute, want none", l)
	}
}

func TestConcurrentFindsShareOneListing(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 100)
	var wg sync.WaitGroup
	for _, n := range names {
		wg.Go(func() {
			if found, err := s.Find(t.Context(), ref(n)); err != nil || len(found) != 1 {
				t.Errorf("find %s: %v, %v", n, found, err)
			}
		})
	}
	wg.Wait()
	if f, l := w.count(decorate.Find), w.count(decorate.List); f > 7 || l != 1 {
		t.Errorf("%d Finds and %d Lists, want at most 7 and 1", f, l)
	}
}

// listed makes sure that the session holds a listing.
func listed(t *testing.T, w *world, s provider.Session, names []string) {
	t.Helper()
	for _, n := range names {
		mustFind(t, s, n)
	}
	if w.count(decorate.List) != 1 {
		t.Fatal("no listing was made")
	}
	w.reset()
}

// One of two instances is deleted alone: the next Find of its machine asks the infrastructure.
func TestRemovalOfOneIsSeen(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	listed(t, w, s, names)
	if _, err := s.Delete(t.Context(), provider.Ref{}, mustFind(t, s, names[0])); err != nil {
		t.Fatal(err)
	}
	if after := mustFind(t, s, names[0]); after[0].State != provider.Stopping {
		t.Errorf("after its delete the instance is %s: the listing of before answers", after[0].State)
	}
}

func TestOwnWritesAreSeen(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	listed(t, w, s, names)
	found := mustFind(t, s, names[0])
	if _, err := s.Delete(t.Context(), ref(names[0]), found); err != nil {
		t.Fatal(err)
	}
	if after := mustFind(t, s, names[0]); after[0].State != provider.Stopping {
		t.Errorf("after its delete the instance is %s: the listing of before answers", after[0].State)
	}
	mustFind(t, s, names[1])
	if f := w.count(decorate.Find); f != 1 {
		t.Errorf("%d Finds, want 1: another machine's write is nobody else's business", f)
	}
	power, _ := provider.As[provider.Powerer](s)
	if err := power.Power(t.Context(), ref(names[2]), mustFind(t, s, names[2])[0], provider.PowerOff, ""); err != nil {
		t.Fatal(err)
	}
	if after := mustFind(t, s, names[2]); after[0].State != provider.Stopped {
		t.Errorf("after power off the instance is %s", after[0].State)
	}
}

func TestWriteDuringAListingIsSeen(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	wrote := false
	// A delete of the first machine begins and ends after the listing has begun and before the
	// infrastructure answers it.
	w.hook = func(c decorate.Call) {
		if c.Verb == decorate.List && !wrote {
			wrote = true
			if _, err := s.Delete(context.Background(), ref(names[0]), nil); err != nil {
				t.Error(err)
			}
		}
	}
	for _, n := range names[1:] {
		mustFind(t, s, n)
	}
	if !wrote {
		t.Fatal("no listing was made")
	}
	w.reset()
	mustFind(t, s, names[0])
	if f := w.count(decorate.Find); f != 1 {
		t.Error("a listing that began before the write answers")
	}
}

func TestEmptinessIsConfirmed(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	listed(t, w, s, names)
	// Created around the decorator, as by a former leader.
	late := ref("late")
	if _, err := open(t, w, w.cloud.Provider()).Create(t.Context(), late, provider.Want{}); err != nil {
		t.Fatal(err)
	}
	if found := mustFind(t, s, "late"); len(found) != 1 {
		t.Error("what the listing lacks is reported as not there")
	}
	if found := mustFind(t, s, "never"); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if f := w.count(decorate.Find); f != 2 {
		t.Errorf("%d Finds confirm, want 2", f)
	}
}

func TestWhatAnotherMadeIsAskedFor(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	class := w.cloud.Class(provider.OpenShift, "c")
	if err := w.cloud.Plant(class, provider.Instance{Name: names[3]}); err != nil {
		t.Fatal(err)
	}
	listed(t, w, s, names)
	if found := mustFind(t, s, names[3]); len(found) != 2 {
		t.Errorf("found %d, want the machine's own and the one that carries its name", len(found))
	}
	strange := ref(names[4])
	strange.ProviderID = "example://i-elsewhere"
	w.reset()
	if _, err := s.Find(t.Context(), strange); err != nil {
		t.Fatal(err)
	}
	if f := w.count(decorate.Find); f != 1 {
		t.Error("a provider ID that the listing lacks is not asked for")
	}
}

func TestIncompleteListingIsNotUsed(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	w.refuse[decorate.List] = provider.Errorf(provider.Denied, "no listing")
	for _, n := range names {
		mustFind(t, s, n)
	}
	if f, l := w.count(decorate.Find), w.count(decorate.List); f != 20 || l != 1 {
		t.Errorf("%d Finds and %d Lists, want 20 and 1: asked directly, and no listing tried again at once", f, l)
	}
}

func TestListingCutShortHidesNoDuplicate(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	// The first machine's second instance is on the last page.
	class := w.cloud.Class(provider.OpenShift, "c")
	if err := w.cloud.Plant(class, provider.Instance{UID: ref(names[0]).UID, Name: names[0]}); err != nil {
		t.Fatal(err)
	}
	cut := providertest.Fault{Kind: provider.Transient, Partial: w.cloud.Page}
	if err := w.cloud.Inject(providertest.List, cut); err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		mustFind(t, s, n)
	}
	if w.count(decorate.List) == 0 {
		t.Fatal("no listing was made")
	}
	if found := mustFind(t, s, names[0]); len(found) != 2 {
		t.Errorf("%d instances, want both: half a listing answers", len(found))
	}
}

func TestThrottledListingIsPassedOn(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	w.refuse[decorate.List] = provider.ThrottledFor(time.Second, errors.New("too many"))
	var err error
	for _, n := range names[:8] {
		_, err = s.Find(t.Context(), ref(n))
	}
	if provider.KindOf(err) != provider.Throttled || provider.AfterOf(err) != time.Second {
		t.Errorf("the caller that listed is told %v", err)
	}
	if f := w.count(decorate.Find); f != 7 {
		t.Errorf("%d Finds: throttling is answered with more calls", f)
	}
}

func TestMovingInstancesAreLookedAtAgain(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	if _, err := s.Create(t.Context(), ref("new"), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	listed(t, w, s, names)
	if found := mustFind(t, s, "new"); found[0].State != provider.Pending {
		t.Fatalf("state %s", found[0].State)
	}
	w.clock.Step(4 * time.Second)
	if found := mustFind(t, s, "new"); found[0].State != provider.Running {
		t.Errorf("state %s: a listing older than Fresh answers for a pending instance", found[0].State)
	}
	if f := w.count(decorate.Find); f != 1 {
		t.Errorf("%d Finds, want 1", f)
	}
}

// TestListingThatPaysIsFollowed: while there are many Finds, each expired listing is followed by another,
// and no Find asks directly; once there are few, all do.
func TestListingThatPaysIsFollowed(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 100)
	listed(t, w, s, names)
	for range 5 {
		w.clock.Step(11 * time.Second)
		for _, n := range names[:20] {
			mustFind(t, s, n)
		}
	}
	if f, l := w.count(decorate.Find), w.count(decorate.List); f != 0 || l != 5 {
		t.Errorf("%d Finds and %d Lists of busy minutes, want none and 5", f, l)
	}
	w.reset()
	for range 5 {
		w.clock.Step(11 * time.Second)
		mustFind(t, s, names[0])
	}
	if f, l := w.count(decorate.Find), w.count(decorate.List); f != 4 || l != 1 {
		t.Errorf("%d Finds and %d Lists of idle minutes, want 4 and 1, which the listing before has earned", f, l)
	}
}

func TestListingBehindAWriteIsNotUsed(t *testing.T) {
	w := newWorld()
	if err := w.cloud.Lag(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	s, names := fleet(t, w, 20)
	if _, err := s.Delete(t.Context(), ref(names[0]), nil); err != nil {
		t.Fatal(err)
	}
	w.reset()
	for _, n := range names[1:] {
		mustFind(t, s, n)
	}
	w.reset()
	mustFind(t, s, names[0])
	if f := w.count(decorate.Find); f != 1 {
		t.Error("a listing that may lag behind the write answers")
	}
}

func TestAnswersAreTheCallersOwn(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	listed(t, w, s, names)
	mustFind(t, s, names[0])[0].Tags["spoilt"] = "yes"
	if _, ok := mustFind(t, s, names[0])[0].Tags["spoilt"]; ok {
		t.Error("a caller's change shows in another's answer")
	}
}

// TestSpellingIsNoReasonToAsk: a listed instance is recognized whichever spelling of its provider ID was
// recorded.
func TestSpellingIsNoReasonToAsk(t *testing.T) {
	w := newWorld()
	s, names := fleet(t, w, 20)
	listed(t, w, s, names)
	known := ref(names[4])
	known.ProviderID = "EXAMPLE:///" + mustFind(t, s, names[4])[0].ID
	w.reset()
	if found, err := s.Find(t.Context(), known); err != nil || len(found) != 1 {
		t.Errorf("found %d, error %v", len(found), err)
	}
	if f := w.count(decorate.Find); f != 0 {
		t.Errorf("%d Finds for what the listing has", f)
	}
}
