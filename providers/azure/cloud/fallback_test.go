package cloud_test

import (
	"slices"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// falling opens a class with fallbacks.
func (w *world) falling(c provider.Class, patches ...string) provider.Session {
	w.t.Helper()
	for _, p := range patches {
		c.Fallbacks = append(c.Fallbacks, []byte(p))
	}
	s, err := decorate.Fallback(w.start()).Open(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// fallbacks are another zone and another size, in the format of each API.
var fallbacks = map[string][]string{
	provider.OpenShift: {`{"zone":"2"}`, `{"vmSize":"Standard_D8s_v3"}`},
	provider.Gardener:  {properties(`{"zone":2}`), properties(`{"hardwareProfile":{"vmSize":"Standard_D8s_v3"}}`)},
}

// TestOneChoice: the choice of a spec with one zone and one size identifies its capacity; a class without a
// spec has none.
func TestOneChoice(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		c := class(api, "c1")
		want := []provider.Choice{{Name: "Standard_D4s_v3 in zone 1", Region: "eastus", Zone: "1", Type: "Standard_D4s_v3"}}
		if got := w.open(c).Traits().Choices; !slices.Equal(got, want) {
			t.Errorf("the choices are %+v", got)
		}
		c.Spec = nil
		if got := w.open(c).Traits().Choices; len(got) > 0 {
			t.Errorf("without a spec the choices are %+v", got)
		}
	})
	w := newWorld(t)
	if got := w.open(patched(t, class(provider.OpenShift, "c1"), `{"spotVMOptions":{}}`)).Traits().Choices; got[0].Type != "Standard_D4s_v3/spot" {
		t.Errorf("the choices are %+v where Azure may take machines back", got)
	}
}

// TestFallback: without room in the first zone, a machine is created in the second, and the class's own
// session finds, lists and removes it.
func TestFallback(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		c := class(api, "c1")
		s, base := w.falling(c, fallbacks[api]...), w.open(c)
		all := s.Traits().Choices
		if len(all) != 3 || all[1].Zone != "2" || all[2].Type != "Standard_D8s_v3" {
			t.Fatalf("the choices are %+v", all)
		}
		if err := w.cloud.Do("exhaust", "1/Standard_D4s_v3"); err != nil {
			t.Fatal(err)
		}
		chosen := func(ref provider.Ref, n int) provider.Instance {
			t.Helper()
			if _, err := s.Create(t.Context(), ref, provider.Want{Choice: all[n].Name}); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(time.Minute)
			return w.only(base, ref)
		}
		first := chosen(machine(1), 0)
		if first.Fault == nil || first.Fault.Kind != provider.Exhausted || first.Zone != "1" {
			t.Fatalf("of the first choice came %+v", first)
		}
		w.remove(base, machine(1), first)
		second := chosen(machine(1), 1)
		if second.State != provider.Running || second.Zone != "2" || second.Type != "Standard_D4s_v3" {
			t.Fatalf("of the second choice came %+v", second)
		}
		third := chosen(machine(2), 2)
		if third.State != provider.Running || third.Zone != "1" || third.Type != "Standard_D8s_v3" {
			t.Errorf("of the third choice came %+v", third)
		}
		listed := 0
		for _, err := range base.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed++
		}
		if listed != 2 {
			t.Errorf("%d are listed", listed)
		}
		w.remove(base, machine(1), second)
		w.remove(base, machine(2), third)
		w.empty()
	})
}

// TestFallbackHasItsOwnInterface: an interface that a refused size left is not reused unchanged.
func TestFallbackHasItsOwnInterface(t *testing.T) {
	w := newWorld(t)
	s := w.falling(patched(t, class(provider.OpenShift, "c1"), `{"acceleratedNetworking":true}`), `{"zone":"2","acceleratedNetworking":false}`)
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Exhausted)}, Operation: "PUT virtualMachines", Times: 1})
	all := s.Traits().Choices
	if _, err := s.Create(t.Context(), machine(1), provider.Want{Choice: all[0].Name}); provider.KindOf(err) != provider.Exhausted {
		t.Fatal(err)
	}
	i, err := s.Create(t.Context(), machine(1), provider.Want{Choice: all[1].Name})
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, w.cloud.Read(nicID(i.ID)), "properties.enableAcceleratedNetworking"); got == "true" {
		t.Errorf("accelerated networking is %s", got)
	}
	w.remove(s, machine(1), i)
	w.empty()
}

// TestScopeIsTheGroup: specs of other zones and sizes list the same machines; those of another resource
// group do not.
func TestScopeIsTheGroup(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		scope := func(patch string) string {
			return w.open(patched(t, class(api, "c1"), patch)).Traits().Scope
		}
		for _, patch := range fallbacks[api] {
			if got := scope(patch); got != scope(`{}`) {
				t.Errorf("with %s the scope is %q", patch, got)
			}
		}
		if got := scope(`{"resourceGroup":"another"}`); got == scope(`{}`) {
			t.Errorf("another resource group has the scope %q too", got)
		}
	})
}
