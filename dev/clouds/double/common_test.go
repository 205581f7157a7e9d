package double_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

type tagged struct{ Tags map[string]string }

// simulated is a cloud of the common parts.
type simulated struct {
	double.Controls
	double.Conditions
	mu        sync.Mutex
	instances *double.Table[tagged]
}

func simulate() *simulated {
	s := &simulated{instances: double.NewTable[tagged](&double.Clock{})}
	onInstance := double.OnInstance(&s.mu, s.instances.Get)
	s.Controls = append(s.ExhaustVerbs("a zone"), s.LagVerb(),
		double.UntagVerb("untag", s.instances, func(i *tagged) *map[string]string { return &i.Tags }),
		double.Verb{Name: "seen", On: "an instance", Do: onInstance(func(i tagged) error {
			if s.mu.TryLock() {
				panic("the lock is not held")
			}
			s.instances.Put("seen", i)
			return nil
		})})
	return s
}

func TestCapacityAndLag(t *testing.T) {
	s := simulate()
	s.SetCapacity(map[string]int{"a": 1, "b/small": 0})
	counts := map[string]int{"a": 1, "c": 7}
	for places, full := range map[string]bool{"a": true, "b": false, "b b/small": true, "c c/small": false} {
		if s.Full(counts, strings.Fields(places)...) != full {
			t.Errorf("%s is full: %v", places, !full)
		}
	}
	for _, step := range []struct{ verb, on, exhausted string }{
		{"exhaust", "Zone/small", "Zone/small"}, {"exhaust", "zone/SMALL", "Zone/small"}, {"exhaust", "C", "C Zone/small"}, {"restock", "zone/small", "C"},
	} {
		if err := s.Do(step.verb, step.on); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Exhausted(), " "); got != step.exhausted {
			t.Errorf("after %s %s, %q are exhausted", step.verb, step.on, got)
		}
	}
	if !s.Full(nil, "c") || !s.Lacks("x", "c") || s.Lacks("zone/small") {
		t.Error("a place has no capacity while it is exhausted, and no other place")
	}
	if err := s.Do("lag", "3s"); err != nil || s.Lag() != 3*time.Second {
		t.Errorf("%v, and the lag is %v", err, s.Lag())
	}
	if err := s.Do("lag", "soon"); err == nil || s.Lag() != 3*time.Second {
		t.Errorf("%v, and the lag is %v", err, s.Lag())
	}
}

func TestControls(t *testing.T) {
	s := simulate()
	before := map[string]string{"a": "1", "b": "2"}
	s.instances.Put("i", tagged{maps.Clone(before)})
	held, _ := s.instances.Get("i")
	for _, on := range []string{"i=c", "j=a", "i"} {
		if s.Do("untag", on) == nil {
			t.Errorf("untag %s succeeds", on)
		}
	}
	if err := s.Do("untag", "i=a"); err != nil {
		t.Fatal(err)
	}
	if i, _ := s.instances.Get("i"); !maps.Equal(i.Tags, map[string]string{"b": "2"}) || !maps.Equal(held.Tags, before) {
		t.Errorf("the tags are %v, and former readers see %v", i.Tags, held.Tags)
	}
	if s.Do("seen", "j") == nil || s.Do("fly", "i") == nil {
		t.Error("an unknown instance, or verb, is no error")
	}
	if err := s.Do("seen", "i"); err != nil {
		t.Error(err)
	}
	if _, ok := s.instances.Get("seen"); !ok || len(s.Verbs()) != 5 {
		t.Errorf("the verb had no effect, or there are not 5 verbs but %d", len(s.Verbs()))
	}
}

func TestCredentials(t *testing.T) {
	first := func(name string) bool { return !strings.HasPrefix(name, "other") }
	c := double.NewCredentials(true, first, "a", "other/b")
	for _, step := range []struct {
		name    string
		do      func()
		want    string
		unknown bool
	}{
		{"begin", func() {}, "a other/b", true},
		{"revoke", c.Revoke, "other/b", false},
		{"add", func() { c.Add("c") }, "other/b c", false},
		{"revoke again", c.Revoke, "other/b", false},
		{"restore", c.Restore, "other/b a c", true},
		{"remove", func() { c.Remove(func(name string) bool { return name == "a" }) }, "other/b c", true},
		{"change", func() { c.Change(func(name *string) { *name += "2" }) }, "other/b2 c2", true},
		{"set", func() { c.SetCredentials("d") }, "d", true},
	} {
		if step.do(); strings.Join(c.Valid(), " ") != step.want || c.AcceptsUnknown() != step.unknown {
			t.Errorf("%s: %v are valid, and unknown ones are accepted: %v", step.name, c.Valid(), c.AcceptsUnknown())
		}
	}
	if b, ok := c.Find(func(name string) bool { return name == "d" }); b != "d" || !ok {
		t.Errorf("%q is found: %v", b, ok)
	}
	if strict := double.NewCredentials[string](false, nil, "a"); strict.AcceptsUnknown() {
		t.Error("unknown credentials are accepted")
	}
}

func TestPermitted(t *testing.T) {
	for _, c := range []struct {
		allow, deny string
		want        bool
	}{{"", "", true}, {"Describe*", "", true}, {"Run*", "", false}, {"", "*Instances", false}, {"Describe*", "DescribeInstances", false}} {
		if got := double.Permitted("DescribeInstances", strings.Fields(c.allow), strings.Fields(c.deny)); got != c.want {
			t.Errorf("allow %q, deny %q: %v", c.allow, c.deny, got)
		}
	}
}

func TestFreeAddress(t *testing.T) {
	used := map[string]bool{}
	for _, want := range []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", ""} {
		got, ok := double.FreeAddress("10.0.0.1/29", 2, used)
		if got != want || ok != (want != "") {
			t.Errorf("%q, %v; want %q", got, ok, want)
		}
		used[got] = true
	}
	if _, ok := double.FreeAddress("somewhere", 2, nil); ok {
		t.Error("an invalid block has an address")
	}
}

func TestInbox(t *testing.T) {
	var b double.Inbox[int]
	for n := range 201 {
		b.Remember("a", n)
	}
	if got := b.Received("a"); len(got) != 200 || !slices.IsSorted(got) || got[199] != 200 || len(b.Received("b")) != 0 {
		t.Errorf("%d requests are kept: %v", len(got), got)
	}
}
