package decorate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/providertest"
)

var errShut = errors.New("another process may lead")

// gate admits calls while it is open.
type gate struct {
	shut          bool
	entered, left int
	// during runs in each admitted call.
	during func(context.CancelCauseFunc)
}

func (g *gate) Enter(ctx context.Context) (context.Context, func(), error) {
	if g.shut {
		return nil, nil, errShut
	}
	g.entered++
	ctx, cancel := context.WithCancelCause(ctx)
	if g.during != nil {
		g.during(cancel)
	}
	return ctx, func() { g.left++; cancel(nil) }, nil
}

// TestGuard: without the lease no call changes anything, and every read works.
func TestGuard(t *testing.T) {
	w := newWorld()
	g := &gate{}
	s := open(t, w, decorate.Guard(w.provider(), g))
	mustCreate(t, w, s, "a")
	found, err := s.Find(t.Context(), ref("a"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	w.reset()
	g.shut, g.entered, g.left = true, 0, 0
	changes := map[string]func() error{
		decorate.Create: func() error { _, err := s.Create(t.Context(), ref("b"), provider.Want{}); return err },
		decorate.Delete: func() error { _, err := s.Delete(t.Context(), ref("a"), found); return err },
		decorate.Initialize: func() error {
			i, ok := provider.As[provider.Initializer](s)
			if !ok {
				t.Fatal("the reference cloud initializes")
			}
			return i.Initialize(t.Context(), ref("a"), found[0])
		},
		decorate.Power: func() error {
			p, ok := provider.As[provider.Powerer](s)
			if !ok {
				t.Fatal("the reference cloud has power")
			}
			return p.Power(t.Context(), ref("a"), found[0], provider.PowerOff, "")
		},
	}
	reboots, ok := provider.As[provider.Powerer](s)
	if !ok {
		t.Fatal("the reference cloud reboots")
	}
	if err := reboots.Power(t.Context(), ref("a"), found[0], provider.Reboot, "r"); !errors.Is(err, errShut) || w.count(decorate.Power) != 0 {
		t.Errorf("a reboot without the lease: %v", err)
	}
	for verb, change := range changes {
		if err := change(); !errors.Is(err, errShut) || provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: %v (%s), want a transient refusal", verb, err, provider.KindOf(err))
		}
		if n := w.count(verb); n != 0 {
			t.Errorf("%s was called %d times without the lease", verb, n)
		}
	}
	if _, err := s.Find(t.Context(), ref("a")); err != nil {
		t.Error("find:", err)
	}
	if all, err := collect(s.List(t.Context())); err != nil || len(all) != 1 {
		t.Error("list:", all, err)
	}
	g.shut = false
	if err := changes[decorate.Initialize](); err != nil || g.entered != 1 || g.left != 1 {
		t.Errorf("with the lease again: %v; entered %d, left %d", err, g.entered, g.left)
	}
}

// TestGuardCallsOff: the result of a canceled call is unknown, and its error has the reason.
func TestGuardCallsOff(t *testing.T) {
	w := newWorld()
	g := &gate{during: func(cancel context.CancelCauseFunc) { cancel(errShut) }}
	p := decorate.Calls(w.cloud.Provider(), func(ctx context.Context, _ decorate.Call, do func(context.Context) error) error {
		if err := ctx.Err(); err != nil {
			return provider.Errorf(provider.Invalid, "request: %w", err)
		}
		return do(ctx)
	})
	s := open(t, w, decorate.Guard(p, g))
	_, err := s.Create(t.Context(), ref("a"), provider.Want{})
	if !errors.Is(err, errShut) || provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "not known") {
		t.Errorf("%v (%s)", err, provider.KindOf(err))
	}
	// The call's own failure is not attributed to the gate.
	g.during = nil
	w.refuse[decorate.Create] = provider.Errorf(provider.Exhausted, "quota")
	s = open(t, w, decorate.Guard(w.provider(), g))
	if _, err := s.Create(t.Context(), ref("a"), provider.Want{}); provider.KindOf(err) != provider.Exhausted {
		t.Errorf("%v (%s)", err, provider.KindOf(err))
	}
	if g.entered != g.left {
		t.Errorf("entered %d times, left %d times", g.entered, g.left)
	}
}

func TestGuardedProviderConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		return harness(t, func(_ *testing.T, _ *world, p provider.Provider) provider.Provider {
			return decorate.Guard(p, &gate{})
		})
	})
}
