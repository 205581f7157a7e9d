package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

type lagger time.Duration

func (l lagger) ReadLag() time.Duration { return time.Duration(l) }

// wrapping decorates anything and adds nothing.
type wrapping struct{ inner any }

func (w wrapping) Unwrap() any { return w.inner }

// doubling stands in front of a Lagger, if there is one.
type doubling struct{ wrapping }

func (d doubling) As(target any) bool {
	t, ok := target.(*provider.Lagger)
	if !ok {
		return false
	}
	l, ok := provider.As[provider.Lagger](d.inner)
	if ok {
		*t = lagger(2 * l.ReadLag())
	}
	return ok
}

func TestAsFindsThroughDecorators(t *testing.T) {
	cases := []struct {
		reason string
		v      any
		want   time.Duration // 0: there is none
	}{
		{"nil has nothing", nil, 0},
		{"a value without it", 7, 0},
		{"the value's own", lagger(1), 1},
		{"under one decorator", wrapping{lagger(1)}, 1},
		{"under two", wrapping{wrapping{lagger(1)}}, 1},
		{"under decorators, but not there", wrapping{wrapping{7}}, 0},
		{"a decorator of nothing", wrapping{nil}, 0},
		{"the outermost wins", wrapping{struct {
			lagger
			wrapping
		}{2, wrapping{lagger(1)}}}, 2},
		{"a decorator stands in front", wrapping{doubling{wrapping{lagger(1)}}}, 2},
		{"and in front of nothing adds nothing", doubling{wrapping{7}}, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			l, ok := provider.As[provider.Lagger](c.v)
			if ok != (c.want > 0) {
				t.Fatalf("found: %t", ok)
			}
			if ok && l.ReadLag() != c.want {
				t.Errorf("found %v, want %v", l.ReadLag(), c.want)
			}
		})
	}
}

type initializer struct{ doubling }

func (initializer) Initialize(context.Context, provider.Ref, provider.Instance) error { return nil }

func TestAsAsksForOneInterfaceOnly(t *testing.T) {
	if _, ok := provider.As[provider.Initializer](initializer{}); !ok {
		t.Error("its own Initializer is not found")
	}
	if _, ok := provider.As[provider.Sizer](initializer{}); ok {
		t.Error("a Sizer is found where there is none")
	}
}
