package decorate_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// shop sells one type in one zone per spec. It stores each sale as a text.
type shop struct {
	provider.Provider
	full map[string]bool
	sold *[]string
}

type order struct {
	provider.Session
	Type, Zone, Region string
	// Also is a second, equal zone.
	Also string
	shop shop
}

func (s shop) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	o := order{shop: s, Region: "r"}
	if err := json.Unmarshal(class.Spec, &o); err != nil {
		return nil, provider.Errorf(provider.Invalid, "no spec: %w", err)
	}
	if o.Type == "" {
		return nil, provider.InvalidField("type", "is missing")
	}
	return o, nil
}

func (o order) name() string { return o.Type + " in " + o.Zone }

func (o order) Traits() provider.Traits {
	return provider.Traits{Scope: o.Region, Choices: o.choices()}
}

func (o order) choices() []provider.Choice {
	first := provider.Choice{Name: o.name(), Region: o.Region, Zone: o.Zone, Type: o.Type}
	if o.Also == "" {
		return []provider.Choice{first}
	}
	return []provider.Choice{first, {Name: o.Type + " in " + o.Also, Region: o.Region, Zone: o.Also, Type: o.Type, Equal: true}}
}

func (o order) Create(_ context.Context, _ provider.Ref, want provider.Want) (provider.Instance, error) {
	if want.Choice != "" && want.Choice != o.name() {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "no such choice: %s", want.Choice)
	}
	if o.shop.full[o.name()] {
		return provider.Instance{}, provider.ExhaustedIn(provider.ScopeType, "no %s", o.name())
	}
	*o.shop.sold = append(*o.shop.sold, o.name())
	return provider.Instance{Type: o.Type, Zone: o.Zone}, nil
}

func (o order) Differences(_ provider.Ref, i provider.Instance) []string {
	if i.Type != o.Type || i.Zone != o.Zone {
		return []string{"type: it is not " + o.name()}
	}
	return nil
}

func (o order) Size(context.Context) (provider.Size, error) {
	return provider.Size{VCPU: int64(len(o.Type)), MemoryMiB: 1024}, nil
}

// begin opens a spec of one type with fallbacks.
func begin(t *testing.T, s shop, fallbacks ...string) provider.Session {
	t.Helper()
	class := provider.Class{Spec: []byte(`{"type":"large","zone":"a"}`)}
	for _, f := range fallbacks {
		class.Fallbacks = append(class.Fallbacks, []byte(f))
	}
	session, err := decorate.Fallback(s).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func names(t *testing.T, s provider.Session) (out []string) {
	t.Helper()
	for _, c := range s.Traits().Choices {
		out = append(out, c.Name)
	}
	return out
}

func TestFallbacksAreChoices(t *testing.T) {
	var sold []string
	s := begin(t, shop{full: map[string]bool{"large in a": true}, sold: &sold}, `{"zone":"b"}`, `{"type":"large"}`, `{"type":"xl"}`)
	want := []string{"large in a", "fallback 1: large in b", "fallback 3: xl in a"}
	if diff := cmp.Diff(want, names(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Create(t.Context(), provider.Ref{}, provider.Want{Choice: want[0]}); provider.KindOf(err) != provider.Exhausted {
		t.Error(err)
	}
	for _, choice := range want[1:] {
		if _, err := s.Create(t.Context(), provider.Ref{}, provider.Want{Choice: choice}); err != nil {
			t.Error(choice, err)
		}
	}
	if diff := cmp.Diff([]string{"large in b", "xl in a"}, sold); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Create(t.Context(), provider.Ref{}, provider.Want{Choice: "huge in c"}); provider.KindOf(err) != provider.Invalid {
		t.Error("a choice that nobody has was bought:", err)
	}
}

// TestFallbacksComeLater: an additional zone of a fallback is not equal to the zones of the spec.
func TestFallbacksComeLater(t *testing.T) {
	s := begin(t, shop{}, `{"also":"b"}`, `{"zone":"c","also":"d"}`)
	var equal []bool
	for _, one := range s.Traits().Choices {
		equal = append(equal, one.Equal)
	}
	if diff := cmp.Diff([]bool{false, false, false, true}, equal); diff != "" {
		t.Error(diff, names(t, s))
	}
}

func TestInstancesOfFallbacksAreNoOthers(t *testing.T) {
	s := begin(t, shop{}, `{"zone":"b"}`)
	for zone, want := range map[string]int{"a": 0, "b": 0, "c": 1} {
		if d := s.Differences(provider.Ref{}, provider.Instance{Type: "large", Zone: zone}); len(d) != want {
			t.Errorf("in %s: %q", zone, d)
		}
	}
}

func TestSizeIsTheLeast(t *testing.T) {
	sizer, ok := provider.As[provider.Sizer](begin(t, shop{}, `{"type":"xxx"}`, `{"type":"tremendous"}`))
	if !ok {
		t.Fatal("it has no size")
	}
	if size, err := sizer.Size(t.Context()); err != nil || size.VCPU != 3 || size.MemoryMiB != 1024 {
		t.Error(size, err)
	}
}

// An unusable fallback does not affect machines that need none, and is reported to those that need one.
func TestUnusableFallbacks(t *testing.T) {
	for reason, tc := range map[string]struct{ fallback, says string }{
		"no patch":              {`large`, "it is no merge patch"},
		"takes away too much":   {`{"type":null}`, "type: is missing"},
		"in another region":     {`{"region":"s"}`, "would not be found"},
		"not a spec any longer": {`[]`, "no spec"},
	} {
		t.Run(reason, func(t *testing.T) {
			var sold []string
			full := map[string]bool{}
			s := begin(t, shop{full: full, sold: &sold}, tc.fallback)
			if diff := cmp.Diff([]string{"large in a"}, names(t, s)); diff != "" {
				t.Error(reason, diff)
			}
			if _, err := s.Create(t.Context(), provider.Ref{}, provider.Want{}); err != nil {
				t.Error(reason, err)
			}
			full["large in a"] = true
			_, err := s.Create(t.Context(), provider.Ref{}, provider.Want{Choice: "large in a"})
			if provider.KindOf(err) != provider.Exhausted || provider.ScopeOf(err) != provider.ScopeType ||
				!strings.Contains(err.Error(), "fallback 1 is not tried: ") || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", reason, err)
			}
		})
	}
}

func TestWithoutFallbacksNothingIsDecorated(t *testing.T) {
	if s, ok := begin(t, shop{}).(order); !ok {
		t.Errorf("it is a %T", s)
	}
}
