package provider_test

import (
	"context"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// sizer returns a size with this number of CPUs.
type sizer int64

func (s sizer) Size(context.Context) (provider.Size, error) {
	return provider.Size{VCPU: int64(s)}, nil
}

// wrapping decorates any value and adds nothing.
type wrapping struct{ inner any }

func (w wrapping) Unwrap() any { return w.inner }

// doubling intercepts a Sizer, if the decorated value has one.
type doubling struct{ wrapping }

func (d doubling) As(target any) bool {
	t, ok := target.(*provider.Sizer)
	if !ok {
		return false
	}
	s, ok := provider.As[provider.Sizer](d.inner)
	if ok {
		size, _ := s.Size(context.Background())
		*t = sizer(2 * size.VCPU)
	}
	return ok
}

func TestAsFindsThroughDecorators(t *testing.T) {
	cases := []struct {
		reason string
		v      any
		want   int64 // 0: there is no Sizer
	}{
		{"nil has nothing", nil, 0},
		{"a value without it", 7, 0},
		{"the value's own", sizer(1), 1},
		{"under one decorator", wrapping{sizer(1)}, 1},
		{"under two", wrapping{wrapping{sizer(1)}}, 1},
		{"under decorators, but not there", wrapping{wrapping{7}}, 0},
		{"a decorator of nothing", wrapping{nil}, 0},
		{"the outermost wins", wrapping{struct {
			sizer
			wrapping
		}{2, wrapping{sizer(1)}}}, 2},
		{"a decorator stands in front", wrapping{doubling{wrapping{sizer(1)}}}, 2},
		{"and in front of nothing adds nothing", doubling{wrapping{7}}, 0},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s, ok := provider.As[provider.Sizer](c.v)
			if ok != (c.want > 0) {
				t.Fatalf("found: %t", ok)
			}
			if !ok {
				return
			}
			if size, err := s.Size(t.Context()); err != nil || size.VCPU != c.want {
				t.Errorf("found %v (%v), want %v", size.VCPU, err, c.want)
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
	if _, ok := provider.As[provider.Powerer](initializer{}); ok {
		t.Error("a Powerer is found where there is none")
	}
}
