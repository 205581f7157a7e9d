package decorate_test

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// late is a provider that declares a read lag, whether or not its listings have one.
type late struct {
	provider.Provider
	lag time.Duration
}

func (p late) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, class)
	return lateSession{s, p.lag}, err
}

type lateSession struct {
	provider.Session
	lag time.Duration
}

func (s lateSession) Traits() provider.Traits {
	t := s.Session.Traits()
	t.ReadLag = s.lag
	return t
}

func (s lateSession) Unwrap() any { return s.Session }

// promised is the read lag that the infrastructure of these tests declares.
const promised = 20 * time.Second

// lagging returns a session over 20 running instances of an infrastructure with the read lag lag. Its
// deletions take long.
func lagging(t *testing.T, lag time.Duration, around func(*world, provider.Provider) provider.Provider) (*world, provider.Session, []string) {
	t.Helper()
	w := newWorld()
	_, names := fleet(t, w, 20)
	w.clock.Step(time.Minute)
	w.cloud.Shutdown = time.Hour
	if err := w.cloud.Lag(lag); err != nil {
		t.Fatal(err)
	}
	p := late{w.provider(), promised}
	return w, open(t, w, decorate.Coalesce(around(w, p), w.clock, decorate.Reads{})), names
}

func bare(_ *world, p provider.Provider) provider.Provider { return p }

// askedFor returns the instances of the machine, and whether the infrastructure was asked for the machine
// alone.
func askedFor(t *testing.T, w *world, s provider.Session, name string) (alone bool, found []provider.Instance) {
	t.Helper()
	before := w.count(decorate.Find)
	found = mustFind(t, s, name)
	return w.count(decorate.Find) > before, found
}

func remove(t *testing.T, s provider.Session, name string, given ...provider.Instance) {
	t.Helper()
	if _, err := s.Delete(t.Context(), ref(name), given); err != nil {
		t.Fatal(err)
	}
}

// TestListingThatShowsTheWriteIsBelieved: if a listing shows a creation or a deletion, no Find asks for
// that machine alone, although the listing might have been out of date.
func TestListingThatShowsTheWriteIsBelieved(t *testing.T) {
	for _, tc := range []struct {
		reason string
		lag    time.Duration
		alone  bool
	}{
		{"it is up to date, whatever it may be at other times", 0, false},
		{"it is behind: the instance is not there, or as it was before", 5 * time.Second, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w, s, names := lagging(t, tc.lag, bare)
			if _, err := s.Create(t.Context(), ref("new"), provider.Want{}); err != nil {
				t.Fatal(err)
			}
			remove(t, s, names[0], mustFind(t, s, names[0])...)
			w.reset()
			listed(t, w, s, names[1:])
			for _, n := range []string{"new", names[0]} {
				if alone, found := askedFor(t, w, s, n); alone != tc.alone {
					t.Errorf("%s: %s is asked for alone: %t, found %v", tc.reason, n, alone, found)
				}
			}
		})
	}
}

// TestListingIsNotBelievedOfUnseenWrites: while the effect of a write is unknown, the listing has to begin
// late enough.
func TestListingIsNotBelievedOfUnseenWrites(t *testing.T) {
	for name, write := range map[string]func(*testing.T, *world, provider.Session, string){
		"a deletion without an instance": func(t *testing.T, _ *world, s provider.Session, n string) { remove(t, s, n) },
		"a deletion whose reply was lost": func(t *testing.T, w *world, s provider.Session, n string) {
			i := mustFind(t, s, n)
			if err := w.cloud.Inject(providertest.Delete, providertest.Fault{Kind: provider.Transient, Done: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Delete(t.Context(), ref(n), i); err == nil {
				t.Fatal("the reply is not lost")
			}
		},
		"a deletion that the cloud throttled": func(t *testing.T, w *world, s provider.Session, n string) {
			i := mustFind(t, s, n)
			w.refuse[decorate.Delete] = provider.ThrottledFor(time.Second, context.DeadlineExceeded)
			if _, err := s.Delete(t.Context(), ref(n), i); err == nil {
				t.Fatal("it is not throttled")
			}
		},
		"a restart": func(t *testing.T, _ *world, s provider.Session, n string) {
			power, _ := provider.As[provider.Powerer](s)
			if err := power.Power(t.Context(), ref(n), mustFind(t, s, n)[0], provider.Reboot, "r"); err != nil {
				t.Fatal(err)
			}
		},
		"a deletion of one that the listing lacks": func(t *testing.T, _ *world, s provider.Session, n string) {
			remove(t, s, n, append(mustFind(t, s, n), provider.Instance{ID: "i-elsewhere", UID: ref(n).UID})...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, names := lagging(t, 0, bare)
			write(t, w, s, names[0])
			w.reset()
			listed(t, w, s, names[1:])
			if alone, _ := askedFor(t, w, s, names[0]); !alone {
				t.Error("a listing answers that began before the lag was over")
			}
			w.clock.Step(promised)
			w.reset()
			listed(t, w, s, names[1:])
			if alone, _ := askedFor(t, w, s, names[0]); alone {
				t.Error("no listing answers, and the lag is over")
			}
		})
	}
}

// TestOneOfTwoIsSeenToGo: the effect of a deletion of one instance shows on that instance, whatever happens
// to the other.
func TestOneOfTwoIsSeenToGo(t *testing.T) {
	w, s, names := lagging(t, 0, bare)
	if err := w.cloud.Plant(w.cloud.Class(provider.OpenShift, "c"), provider.Instance{UID: ref(names[0]).UID, Name: names[0]}); err != nil {
		t.Fatal(err)
	}
	two := mustFind(t, s, names[0])
	if len(two) != 2 {
		t.Fatalf("%d instances, want 2", len(two))
	}
	if _, err := s.Delete(t.Context(), provider.Ref{}, two[1:]); err != nil {
		t.Fatal(err)
	}
	w.reset()
	listed(t, w, s, names[1:])
	alone, found := askedFor(t, w, s, names[0])
	if alone || len(found) != 2 || found[0].State != provider.Running || found[1].State != provider.Stopping {
		t.Errorf("asked for alone: %t, found %v", alone, found)
	}
}

// TestOtherOfTwoHasToGo: a listing in which one of the instances continues to run does not show the
// deletion of all instances of a machine.
func TestOtherOfTwoHasToGo(t *testing.T) {
	w, s, names := lagging(t, 0, bare)
	remove(t, s, names[0], mustFind(t, s, names[0])...)
	// Another process created it, and the deletion did not see it.
	if err := w.cloud.Plant(w.cloud.Class(provider.OpenShift, "c"), provider.Instance{UID: ref(names[0]).UID, Name: names[0]}); err != nil {
		t.Fatal(err)
	}
	w.reset()
	listed(t, w, s, names[1:])
	if alone, _ := askedFor(t, w, s, names[0]); !alone {
		t.Error("a listing answers in which an instance goes on")
	}
}

// TestDeletionThatGoesOnIsNoWrite: while a deleted instance is under deletion, a repeated Delete changes
// nothing. An instance that stays is deleted again.
func TestDeletionThatGoesOnIsNoWrite(t *testing.T) {
	w, s, names := lagging(t, 0, bare)
	remove(t, s, names[0], mustFind(t, s, names[0])...)
	w.reset()
	listed(t, w, s, names[1:])
	_, going := askedFor(t, w, s, names[0])
	remove(t, s, names[0], going...)
	if alone, _ := askedFor(t, w, s, names[0]); alone {
		t.Error("a deletion that goes on is a new write")
	}
	if n := w.count(decorate.Delete); n != 1 {
		t.Errorf("%d Deletes reach the infrastructure, want each", n)
	}
	back := going[0]
	back.State = provider.Running
	remove(t, s, names[0], back)
	if alone, _ := askedFor(t, w, s, names[0]); !alone {
		t.Error("an instance that did not go was asked again, and a listing of before answers")
	}
}

// TestDeletionOfAnotherProcessIsAWrite: if another process deleted the instance, listings may still show
// its earlier state.
func TestDeletionOfAnotherProcessIsAWrite(t *testing.T) {
	w, s, names := lagging(t, 0, bare)
	if _, err := s.Create(t.Context(), ref("own"), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	other := open(t, w, w.cloud.Provider())
	for _, name := range []string{names[0], "own"} {
		remove(t, other, name, mustFind(t, other, name)...)
	}
	w.reset()
	listed(t, w, s, names[1:])
	for _, name := range []string{names[0], "own"} {
		_, going := askedFor(t, w, s, name)
		remove(t, s, name, going...)
		if alone, _ := askedFor(t, w, s, name); !alone {
			t.Errorf("%s: a listing of before the deletion answers", name)
		}
	}
}

// TestWritersBeginAListing: a caller that has written may begin a listing as well, and this listing will
// show its write.
func TestWritersBeginAListing(t *testing.T) {
	w, s, _ := lagging(t, 0, bare)
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, n := range names {
		if _, err := s.Create(t.Context(), ref(n), provider.Want{}); err != nil {
			t.Fatal(err)
		}
	}
	w.reset()
	for _, n := range names {
		mustFind(t, s, n)
	}
	if f, l := w.count(decorate.Find), w.count(decorate.List); f != 7 || l != 1 {
		t.Errorf("%d Finds and %d Lists of ten that wrote, want 7 (then it pays) and 1", f, l)
	}
}

// TestCallOutOfTurnIsNoWrite: a call that the account's limit refused did not happen.
func TestCallOutOfTurnIsNoWrite(t *testing.T) {
	w, s, names := lagging(t, 0, func(w *world, p provider.Provider) provider.Provider {
		return decorate.Limit(p, w.clock, decorate.Limits{PerSecond: 100, Burst: 100, Writes: &decorate.Limits{PerSecond: 0.001, Burst: 1}})
	})
	remove(t, s, names[1], mustFind(t, s, names[1])...)
	w.reset()
	listed(t, w, s, names[2:])
	_, err := s.Delete(t.Context(), ref(names[0]), mustFind(t, s, names[0]))
	if provider.KindOf(err) != provider.Throttled || w.count(decorate.Delete) != 0 {
		t.Fatalf("error %v and %d Deletes, want a refusal", err, w.count(decorate.Delete))
	}
	if alone, _ := askedFor(t, w, s, names[0]); alone {
		t.Error("a call that was not made is a write")
	}
}
