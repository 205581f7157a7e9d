package decorate_test

import (
	"context"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// plain is a session with unknown properties and without any capability.
type plain struct{ provider.Session }

func (plain) Traits() provider.Traits { return provider.Traits{} }

type plainProvider struct{ provider.Provider }

func (p plainProvider) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := p.Provider.Open(ctx, c)
	return plain{s}, err
}

func TestNoCapabilityAppearsByDecoration(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Coalesce(decorate.Limit(plainProvider{w.cloud.Provider()}, w.clock, decorate.Limits{}), w.clock, decorate.Reads{}))
	if _, ok := provider.As[provider.Powerer](s); ok {
		t.Error("a Powerer appears where there is none")
	}
	if _, ok := provider.As[provider.ConsoleReader](s); ok {
		t.Error("a ConsoleReader appears where there is none")
	}
}

func TestCapabilitiesPassEveryDecorator(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Coalesce(decorate.Limit(w.provider(), w.clock, decorate.Limits{}), w.clock, decorate.Reads{}))
	sizer, ok := provider.As[provider.Sizer](s)
	if !ok {
		t.Fatal("the Sizer is lost")
	}
	if _, err := sizer.Size(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(decorate.Size); n != 1 {
		t.Errorf("%d calls pass the innermost decorator, want 1", n)
	}
	if raw, err := s.Status(provider.Instance{ID: "i"}); err != nil || len(raw) == 0 {
		t.Errorf("the status is lost: %s, error %v", raw, err)
	}
	// The account is asked once and kept with the client: the call is neither limited nor counted.
	if name, err := s.Account(t.Context()); err != nil || name == "" {
		t.Errorf("account %q, error %v", name, err)
	}
}

func TestLeftoversPassEveryDecorator(t *testing.T) {
	w := newWorld()
	s := open(t, w, decorate.Coalesce(decorate.Limit(w.provider(), w.clock, decorate.Limits{}), w.clock, decorate.Reads{}))
	if err := w.cloud.Leave(w.cloud.Class(provider.OpenShift, "c"), ref("gone")); err != nil {
		t.Fatal(err)
	}
	lister, ok := provider.As[provider.LeftoverLister](s)
	if !ok {
		t.Fatal("the LeftoverLister is lost")
	}
	for _, want := range []error{nil, provider.Errorf(provider.Denied, "no")} {
		w.refuse[decorate.Leftovers] = want
		n, last := 0, error(nil)
		for _, err := range lister.Leftovers(t.Context()) {
			n, last = n+1, err
		}
		if n != 1 || provider.KindOf(last) != provider.KindOf(want) {
			t.Errorf("%d items, the last with %v, want one with %v", n, last, want)
		}
	}
	if scope := s.Traits().Scope; scope == "" || w.count(decorate.Leftovers) != 2 {
		t.Errorf("scope %q, %d calls pass the innermost decorator", scope, w.count(decorate.Leftovers))
	}
}

func TestListingEndsWithTheDecoratorsError(t *testing.T) {
	w := newWorld()
	s := open(t, w, w.provider())
	mustCreate(t, w, s, "a", "b")
	w.refuse[decorate.List] = provider.Errorf(provider.Throttled, "not now")
	errs := 0
	for _, err := range s.List(t.Context()) {
		if provider.KindOf(err) != provider.Throttled {
			t.Errorf("got %v", err)
		}
		errs++
	}
	if errs != 1 {
		t.Errorf("the error comes %d times, want once", errs)
	}
}

// forming counts how often the traits of its sessions are computed.
type forming struct {
	provider.Provider
	times *int
}

func (f forming) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := f.Provider.Open(ctx, c)
	return formingSession{s, f.times}, err
}

type formingSession struct {
	provider.Session
	times *int
}

func (f formingSession) Traits() provider.Traits {
	*f.times++
	return f.Session.Traits()
}

// TestTraitsAreFormedOnce: the traits of each spec are computed once, when the session is opened, however
// often the engine reads them.
func TestTraitsAreFormedOnce(t *testing.T) {
	w, times := newWorld(), 0
	class := w.cloud.Class(provider.OpenShift, "c")
	class.Spec = []byte(`{"size":"small","zone":"a","zones":["b"]}`)
	class.Fallbacks = [][]byte{[]byte(`{"size":"large"}`)}
	s, err := decorate.Fallback(decorate.Coalesce(forming{w.provider(), &times}, w.clock, decorate.Reads{})).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if n := len(s.Traits().Choices); n != 4 {
			t.Fatalf("%d choices, want 4", n)
		}
		provider.SameInstance(s, "example://a", "example://b")
	}
	if times != 2 {
		t.Errorf("the traits of two specs are formed %d times", times)
	}
}
