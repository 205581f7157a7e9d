package decorate_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// world is the reference cloud with a count of the calls that reach it.
type world struct {
	clock *clocktesting.FakeClock
	cloud *providertest.Cloud
	calls map[string]int
	// refuse is the error of the next calls of a verb; hook runs before each call.
	refuse map[string]error
	hook   func(decorate.Call)

	mu sync.Mutex
}

func newWorld() *world {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &world{
		clock: clk, cloud: providertest.NewCloud(clk),
		calls: map[string]int{}, refuse: map[string]error{},
	}
}

// provider returns the reference provider, its calls counted.
func (w *world) provider() provider.Provider {
	return decorate.Calls(w.cloud.Provider(), func(ctx context.Context, c decorate.Call, do func(context.Context) error) error {
		w.mu.Lock()
		w.calls[c.Verb]++
		err := w.refuse[c.Verb]
		w.mu.Unlock()
		if w.hook != nil {
			w.hook(c)
		}
		if err != nil {
			return err
		}
		return do(ctx)
	})
}

func (w *world) count(verb string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[verb]
}

func (w *world) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.calls)
}

func open(t *testing.T, w *world, p provider.Provider) provider.Session {
	t.Helper()
	s, err := p.Open(t.Context(), w.cloud.Class(provider.OpenShift, "c"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ref(name string) provider.Ref {
	return provider.Ref{UID: "uid-" + name, Namespace: "ns", Name: name}
}

func collect(seq iter.Seq2[provider.Instance, error]) (all []provider.Instance, err error) {
	for i, e := range seq {
		if e != nil {
			return all, e
		}
		all = append(all, i)
	}
	return all, nil
}

// mustCreate creates running instances.
func mustCreate(t *testing.T, w *world, s provider.Session, names ...string) {
	t.Helper()
	for _, n := range names {
		if _, err := s.Create(t.Context(), ref(n), provider.Want{}); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Step(time.Minute)
}
