package cloud

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// world is a cloud with a clock that the test moves. Random delays are as long as
// possible.
type world struct {
	now time.Time
	cut bool
	*Cloud
}

func newWorld(t Traits) *world {
	w := &world{now: time.Unix(0, 0)}
	w.Cloud = &Cloud{
		Traits: t, Now: func() time.Time { return w.now }, Roll: func(n int) int { return n - 1 },
		Half: func() bool { return false }, Cut: func() bool { return w.cut }, OnCreate: func(*Machine) {}, OnStop: func(*Machine) {},
	}
	return w
}

func (w *world) open(t *testing.T) provider.Session {
	t.Helper()
	p := Provider{Cloud: w.Cloud, Gate: func(_ Call, do func() error) error { return do() }}
	s, err := p.Open(context.Background(), provider.Class{Cluster: "c", Credentials: map[string][]byte{CredentialKey: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var ref = provider.Ref{UID: "u", Name: "m"}

func find(t *testing.T, s provider.Session) []provider.Instance {
	t.Helper()
	out, err := s.Find(context.Background(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func make1(t *testing.T, s provider.Session) provider.Instance {
	t.Helper()
	i, err := s.Create(context.Background(), ref, provider.Want{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestCreateTwiceMakesOne(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	if a, b := make1(t, s), make1(t, s); a.ID != b.ID || len(w.Machines()) != 1 {
		t.Errorf("got %s and %s", a.ID, b.ID)
	}
}

func TestListingsRunBehindByTheLagDeclared(t *testing.T) {
	w := newWorld(Traits{Lag: 2 * time.Second, LagByID: true})
	s := w.open(t)
	make1(t, s)
	if got := find(t, s); len(got) != 0 {
		t.Errorf("listed at once: %v", got)
	}
	w.now = w.now.Add(s.Traits().ReadLag)
	if got := find(t, s); len(got) != 1 {
		t.Errorf("not listed once the lag is over: %v", got)
	}
}

func TestDeleteIsDoneWhenNothingIsLeft(t *testing.T) {
	w := newWorld(Traits{Stop: time.Second})
	s := w.open(t)
	i := make1(t, s)
	done, err := s.Delete(context.Background(), ref, []provider.Instance{i})
	if err != nil || done {
		t.Fatalf("done %v while the instance stops: %v", done, err)
	}
	w.now = w.now.Add(time.Second)
	if done, err = s.Delete(context.Background(), ref, nil); err != nil || !done {
		t.Errorf("done %v: %v", done, err)
	}
	if left := w.Parts(""); len(left) != 0 {
		t.Errorf("%d parts are left", len(left))
	}
}

func TestDeathLeavesThePartsBehind(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	make1(t, s)
	w.Kill(w.Existing("u")[0])
	if len(w.Existing("u")) != 0 || len(w.Parts("u")) != 2 {
		t.Errorf("%d instances, %d parts", len(w.Existing("u")), len(w.Parts("u")))
	}
	if done, err := s.Delete(context.Background(), ref, nil); err != nil || !done || len(w.Parts("u")) != 0 {
		t.Errorf("done %v with %d parts left: %v", done, len(w.Parts("u")), err)
	}
}

func TestWithoutAUIDOnlyWhatIsGivenGoes(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	own := make1(t, s)
	twin, stranger := w.Add(Place{Account: MainAccount, Cluster: "c"}, "u", "m"), w.Add(Place{Account: MainAccount, Cluster: "c"}, "", "other")
	done, err := s.Delete(context.Background(), provider.Ref{}, []provider.Instance{{ID: twin.ID}})
	if err != nil || !done {
		t.Fatalf("done %v: %v", done, err)
	}
	if left := w.Existing(""); len(left) != 2 || left[0].ID != own.ID || left[1] != stranger {
		t.Errorf("%d instances are left", len(left))
	}
	if len(w.Parts("u")) != 2 {
		t.Error("the parts of the one that stays are gone")
	}
}

func TestListing(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	make1(t, s)
	w.Add(Place{Account: MainAccount, Cluster: "elsewhere"}, "v", "foreign")
	var listed []string
	for i, err := range s.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, i.ID)
	}
	if len(listed) != 1 || listed[0] != "i-1" {
		t.Errorf("listed %v, want those of the cluster", listed)
	}
	w.cut = true
	n := 0
	for _, err := range s.List(context.Background()) {
		if n++; err == nil {
			t.Error("the listing was to end early")
		}
	}
	if n != 1 {
		t.Errorf("%d items of a listing that ends at once", n)
	}
}

func TestLeftovers(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	make1(t, s)
	lister, ok := provider.As[provider.LeftoverLister](s)
	if !ok {
		t.Fatal("leftovers cannot be listed")
	}
	count := func() (n int) {
		for l, err := range lister.Leftovers(context.Background()) {
			if err != nil || l.UID != "u" {
				t.Errorf("%+v %v", l, err)
			}
			n++
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d are listed that are in use", n)
	}
	w.Kill(w.Existing("u")[0])
	if n := count(); n != 2 {
		t.Errorf("%d are listed, want the disk and the interface", n)
	}
}

// An instance without a UID is deleted only when it is given, without the parts of any machine.
func TestDeleteLeavesWhatIsNotGiven(t *testing.T) {
	w := newWorld(Traits{})
	s := w.open(t)
	make1(t, s)
	other := w.Add(w.Machines()[0].Place, "", "other")
	of := provider.Ref{UID: "another", Name: "other", ProviderID: other.ProviderID()}
	if _, err := s.Delete(context.Background(), of, nil); err != nil || !other.Exists(w.now) {
		t.Errorf("%v: the instance with the provider ID was deleted, but was not given", err)
	}
	if _, err := s.Delete(context.Background(), of, []provider.Instance{{ID: other.ID}}); err != nil || other.Exists(w.now) {
		t.Errorf("%v: the given instance still exists", err)
	}
	if n := len(w.Parts(ref.UID)); n != 2 {
		t.Errorf("%d parts of the machine are left, of 2", n)
	}
}
