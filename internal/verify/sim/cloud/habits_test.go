package cloud

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

func like(t *testing.T, h Habits) (*world, provider.Session) {
	t.Helper()
	w := newWorld(Traits{Habits: h, Boot: time.Minute, Stop: time.Second, Lingers: h.Keeps > 0})
	return w, w.open(t)
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if provider.KindOf(err) != provider.Conflict {
		t.Errorf("%s: %v, want a conflict", what, err)
	}
}

func TestTokensAreForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		recalls, after time.Duration
		made           int
	}{
		"never":                {0, 48 * time.Hour, 1},
		"not yet":              {time.Hour, time.Minute, 1},
		"after a time":         {time.Hour, time.Hour, 2},
		"with what it was for": {WhileThere, time.Minute, 2},
	} {
		w, s := like(t, Habits{Recalls: c.recalls})
		make1(t, s)
		w.now = w.now.Add(c.after)
		if make1(t, s); len(w.Machines()) != 1 {
			t.Errorf("%s: a second instance beside one that exists", name)
		}
		w.Kill(w.Machines()[0])
		if make1(t, s); len(w.Machines()) != c.made {
			t.Errorf("%s: %d instances in all, want %d", name, len(w.Machines()), c.made)
		}
	}
}

func TestWhatIsGoneIsListedForATime(t *testing.T) {
	w, s := like(t, Habits{Keeps: time.Hour})
	make1(t, s)
	w.Kill(w.Machines()[0])
	w.now = w.now.Add(time.Hour - 1)
	if got := find(t, s); len(got) != 1 || got[0].State != provider.Terminated {
		t.Errorf("within the hour it shows %v", got)
	}
	w.now = w.now.Add(1)
	if got := find(t, s); len(got) != 0 {
		t.Errorf("after the hour it shows %v", got)
	}
}

func TestOnlyOperationsThatFailedAreListed(t *testing.T) {
	w, s := like(t, Habits{Keeps: time.Hour, Operations: true})
	make1(t, s)
	w.Kill(w.Machines()[0])
	if got := find(t, s); len(got) != 0 {
		t.Errorf("what was removed is listed: %v", got)
	}
	w, s = like(t, Habits{Keeps: time.Hour, Operations: true})
	w.StartFailure = func(*Machine) *StartFailure {
		return &StartFailure{Why: provider.Errorf(provider.Exhausted, "full"), Vanishes: true}
	}
	make1(t, s)
	if got := find(t, s); len(got) != 1 || got[0].State != provider.Terminated || got[0].Fault == nil {
		t.Errorf("an operation that failed shows %v", got)
	}
}

func TestWhoseItIsIsShownLater(t *testing.T) {
	w, _ := like(t, Habits{Marks: time.Minute})
	w.Roll = func(n int) int { return n - 1 }
	p := Provider{Cloud: w.Cloud, Gate: func(_ Call, do func() error) error { return do() }}
	s, err := p.Open(context.Background(), provider.Class{Cluster: "c", Owner: "o", Credentials: map[string][]byte{CredentialKey: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	if i := make1(t, s); i.Owner != "" || i.UID != ref.UID {
		t.Errorf("at once it shows owner %q, UID %q", i.Owner, i.UID)
	}
	w.now = w.now.Add(time.Minute)
	if i := find(t, s)[0]; i.Owner != "o" {
		t.Errorf("then it shows owner %q", i.Owner)
	}
}

// Another creation runs between its interface and its instance.
func TestAnInstanceNeedsItsInterface(t *testing.T) {
	for _, making := range []Making{InSteps, ByInterface} {
		w, s := like(t, Habits{Makes: making, Recalls: WhileThere})
		w.Between = func() {
			if done, err := s.Delete(context.Background(), ref, nil); err != nil || !done {
				t.Fatalf("%s: done %v: %v", making, done, err)
			}
		}
		_, err := s.Create(context.Background(), ref, provider.Want{})
		refused(t, string(making)+", after its interface was removed", err)
		if len(w.Machines()) != 0 {
			t.Errorf("%s: an instance without an interface", making)
		}
	}
}

func TestWhoeverMadeTheInterfaceMayAsk(t *testing.T) {
	w, s := like(t, Habits{Makes: ByInterface, Recalls: WhileThere})
	other := func() error {
		_, err := s.Create(context.Background(), ref, provider.Want{})
		return err
	}
	w.Between = func() {
		w.Between = nil
		refused(t, "another within the minute", other())
		w.now = w.now.Add(lease)
		if err := other(); err != nil {
			t.Errorf("another after the minute: %v", err)
		}
	}
	if i := make1(t, s); len(w.Machines()) != 1 || i.ID != w.Machines()[0].ID {
		t.Errorf("%d instances, and the creation returned %s", len(w.Machines()), i.ID)
	}
	w, s = like(t, Habits{Makes: ByInterface, Recalls: WhileThere})
	w.Between = func() {
		w.Between = nil
		_, err := s.Create(IgnoreInterfaceOwner(context.Background()), ref, provider.Want{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(IgnoreInterfaceOwner(context.Background()), ref, provider.Want{}); err != nil || len(w.Machines()) != 2 {
		t.Errorf("a provider that does not check gets %d instances: %v", len(w.Machines()), err)
	}
}

func TestSwitchedOffUntilInitialized(t *testing.T) {
	w, s := like(t, Habits{Makes: SwitchedOff})
	make1(t, s)
	w.now = w.now.Add(time.Minute)
	i := find(t, s)[0]
	if i.State != provider.Stopped || !i.Uninitialized || w.Machines()[0].Runs(w.now) {
		t.Fatalf("made, it is %s, uninitialized %v", i.State, i.Uninitialized)
	}
	init, ok := provider.As[provider.Initializer](s)
	if !ok {
		t.Fatal("it cannot be initialized")
	}
	if err := init.Initialize(context.Background(), ref, i); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	if i = find(t, s)[0]; i.State != provider.Running || i.Uninitialized {
		t.Errorf("started, it is %s, uninitialized %v", i.State, i.Uninitialized)
	}
}

func TestANameIsTakenWhileItsInstanceExists(t *testing.T) {
	w, s := like(t, Habits{Unique: true})
	make1(t, s)
	again := provider.Ref{UID: "v", Name: ref.Name}
	_, err := s.Create(context.Background(), again, provider.Want{})
	refused(t, "a name that is taken", err)
	w.Kill(w.Machines()[0])
	if _, err := s.Create(context.Background(), again, provider.Want{}); err != nil {
		t.Errorf("a name that is free again: %v", err)
	}
}

func TestWhatIsBeingMadeCannotBeRemoved(t *testing.T) {
	w, s := like(t, Habits{Busy: true})
	make1(t, s)
	_, err := s.Delete(context.Background(), ref, nil)
	refused(t, "a removal while it starts", err)
	w.now = w.now.Add(time.Minute)
	if _, err := s.Delete(context.Background(), ref, nil); err != nil {
		t.Errorf("a removal once it runs: %v", err)
	}
}

func TestARemovalFailsAfterItWasAccepted(t *testing.T) {
	w, s := like(t, Habits{})
	fails := true
	w.RemovalFails = func(*Machine) bool { return fails }
	make1(t, s)
	w.now = w.now.Add(time.Minute)
	if done, err := s.Delete(context.Background(), ref, nil); err != nil || done {
		t.Fatalf("done %v: %v", done, err)
	}
	if i := find(t, s)[0]; i.State != provider.Stopping {
		t.Errorf("under way it is %s", i.State)
	}
	w.now = w.now.Add(2 * time.Second)
	if i := find(t, s)[0]; i.State != provider.Running {
		t.Errorf("when that has failed it is %s", i.State)
	}
	fails = false
	if _, err := s.Delete(context.Background(), ref, nil); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Second)
	if done, err := s.Delete(context.Background(), ref, nil); err != nil || !done {
		t.Errorf("done %v: %v", done, err)
	}
}

func TestNodesAreCalledByAddresses(t *testing.T) {
	w, s := like(t, Habits{Addressed: true})
	w.Scarce = true
	first := make1(t, s).NodeName
	w.Kill(w.Machines()[0])
	i, err := s.Create(context.Background(), provider.Ref{UID: "v", Name: "n"}, provider.Want{})
	if err != nil || i.NodeName != first {
		t.Errorf("the next is called %s, the first was %s: %v", i.NodeName, first, err)
	}
}
