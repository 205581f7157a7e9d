package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

func TestKindAndDelaySurviveWrapping(t *testing.T) {
	throttled := provider.ThrottledFor(3*time.Second, errors.New("slow down"))
	denied := provider.Errorf(provider.Denied, "no")
	cases := []struct {
		reason string
		err    error
		kind   provider.Kind
		after  time.Duration
	}{
		{"no error has no kind", nil, "", 0},
		{"an unknown error is worth another try", errors.New("odd"), provider.Transient, 0},
		{"a cancelled call says nothing about the cloud", context.Canceled, provider.Transient, 0},
		{"a classified error", denied, provider.Denied, 0},
		{"wrapped", fmt.Errorf("find: %w", throttled), provider.Throttled, 3 * time.Second},
		{"wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", throttled)), provider.Throttled, 3 * time.Second},
		{"the outer classification holds", &provider.Error{Kind: provider.Exhausted, Err: denied}, provider.Exhausted, 0},
		{"joined: the first that is classified", errors.Join(errors.New("odd"), throttled, denied), provider.Throttled, 3 * time.Second},
		{"wrapped after joining", fmt.Errorf("x: %w", errors.Join(denied, throttled)), provider.Denied, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			if k := provider.KindOf(c.err); k != c.kind {
				t.Errorf("kind %q, want %q", k, c.kind)
			}
			if d := provider.AfterOf(c.err); d != c.after {
				t.Errorf("after %v, want %v", d, c.after)
			}
		})
	}
}

func TestErrorSaysWhatTheInfrastructureSaid(t *testing.T) {
	cause := errors.New("NoSuchZone: moon")
	for want, err := range map[string]*provider.Error{
		"create: NoSuchZone: moon": provider.Errorf(provider.Invalid, "create: %w", cause),
		"zone: NoSuchZone: moon":   provider.InvalidField("zone", "%w", cause),
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q has lost its cause", want)
		}
	}
}

func TestScopeOf(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		want   provider.Scope
	}{
		{"as it says", fmt.Errorf("create: %w", provider.ExhaustedIn(provider.ScopeAccount, "quota")), provider.ScopeAccount},
		{"the narrowest where it does not say", provider.Errorf(provider.Exhausted, "full"), provider.ScopeType},
		{"and where nobody classified it", errors.New("full"), provider.ScopeType},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := provider.ScopeOf(c.err); got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
