package cloud_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

const network2 = "5b0f2a35-4a52-4f4e-8d1e-2f0f6a1c9e77"

// falling opens a class with fallbacks, in a new process.
func (b *bench) falling(class provider.Class, patches ...string) provider.Session {
	b.t.Helper()
	for _, p := range patches {
		class.Fallbacks = append(class.Fallbacks, []byte(p))
	}
	s, err := decorate.Fallback(b.start()).Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// TestOneChoice: a spec has one choice, which names the place of its capacity, also if the spec names no
// zone.
func TestOneChoice(t *testing.T) {
	b := newBench(t)
	for api, want := range map[string]provider.Choice{
		provider.OpenShift: {Name: "m1.test in any zone", Type: "m1.test"},
		provider.Gardener:  {Name: "m1.test in nova", Region: "RegionOne", Zone: "nova", Type: "m1.test"},
	} {
		class := b.class(api, "c1")
		s := b.session(class)
		if got := s.Traits().Choices; !slices.Equal(got, []provider.Choice{want}) {
			t.Errorf("%s: %+v", api, got)
		}
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{Choice: "another", UserData: boot}); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%s: a choice that there is not: %v", api, err)
		}
		class.Spec = nil
		if got := b.session(class).Traits().Choices; len(got) > 0 {
			t.Errorf("%s: without a spec %+v", api, got)
		}
	}
}

// TestFallback: without room in the first zone, a server is created in the second, then of another flavor,
// and the class's own session finds, lists and removes it.
func TestFallback(t *testing.T) {
	for api, patches := range map[string][]string{
		provider.OpenShift: {`{"availabilityZone":"az-2"}`, `{"flavor":"m1.large"}`},
		provider.Gardener:  {`{"spec":{"availabilityZone":"az-2"}}`, `{"spec":{"flavorName":"m1.large"}}`},
	} {
		t.Run(api, func(t *testing.T) {
			b := newBench(t)
			class := b.class(api, "c1")
			if api == provider.OpenShift {
				class.Spec = merged(t, string(class.Spec), `{"availabilityZone":"nova"}`)
			}
			s, base := b.falling(class, patches...), b.session(class)
			all := s.Traits().Choices
			if len(all) != 3 || all[1].Zone != "az-2" || all[2].Type != "m1.large" {
				t.Fatalf("the choices are %+v", all)
			}
			if err := b.cloud.Do("exhaust", "nova/m1.test"); err != nil {
				t.Fatal(err)
			}
			second := ref("second")
			second.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
			chosen := func(r provider.Ref, n int) provider.Instance {
				t.Helper()
				if _, err := s.Create(t.Context(), r, provider.Want{Choice: all[n].Name, UserData: boot}); err != nil {
					t.Fatal(err)
				}
				b.clock.Advance(time.Minute)
				found, err := base.Find(t.Context(), r)
				if err != nil || len(found) != 1 {
					t.Fatalf("found %+v, error %v", found, err)
				}
				return found[0]
			}
			first := chosen(ref("m"), 0)
			if first.Fault == nil || first.Fault.Kind != provider.Exhausted {
				t.Fatalf("of the first choice came %+v", first)
			}
			if err := b.remove(base, ref("m"), first); err != nil {
				t.Fatal(err)
			}
			other := chosen(ref("m"), 1)
			if other.State != provider.Running || other.Zone != "az-2" || other.Type != "m1.test" {
				t.Errorf("of the second choice came %+v", other)
			}
			third := chosen(second, 2)
			if third.State != provider.Running || third.Zone != "nova" || third.Type != "m1.large" {
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
			for r, i := range map[provider.Ref]provider.Instance{ref("m"): other, second: third} {
				if err := b.remove(base, r, i); err != nil {
					t.Error(err)
				}
			}
			b.holds(t, 0, 0)
		})
	}
}

// refused lets the first choice fail for a quota, after its ports and volumes were created, and returns the
// session and the choices.
func (b *bench) refused(t *testing.T, set, patch string) (provider.Session, []provider.Choice) {
	t.Helper()
	class := b.class(provider.OpenShift, "c1")
	class.Spec = merged(t, string(class.Spec), set)
	s := b.falling(class, patch)
	all := s.Traits().Choices
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: string(provider.Exhausted)}, Operation: "nova.POST.servers", Times: 1})
	for range 10 {
		if _, err := s.Create(t.Context(), ref("m"), provider.Want{Choice: all[0].Name, UserData: boot}); provider.KindOf(err) == provider.Exhausted {
			return s, all
		}
		b.clock.Advance(time.Second)
	}
	t.Fatal("it is not refused")
	return nil, nil
}

// chosen creates the machine of a choice.
func (b *bench) chosen(t *testing.T, s provider.Session, choice string) {
	t.Helper()
	for range 20 {
		_, err := s.Create(t.Context(), ref("m"), provider.Want{Choice: choice, UserData: boot})
		if err == nil {
			b.clock.Advance(time.Minute)
			return
		}
		if provider.KindOf(err) != provider.Conflict {
			t.Fatal(err)
		}
		b.clock.Advance(time.Second)
	}
	t.Fatal("it is not made")
}

// TestFallbackHasItsOwnPorts: ports that were created for a refused choice are not reused unchanged, in any
// network.
func TestFallbackHasItsOwnPorts(t *testing.T) {
	const first = `{"securityGroups":[{"name":"default"}],"networks":[{"uuid":"` + net1 + `"}],"ports":[{"networkID":"` + net1 + `","nameSuffix":"x"}]}`
	for reason, patch := range map[string]string{
		"other groups":     `{"availabilityZone":"az-2","securityGroups":[{"name":"workers"}]}`,
		"another network":  `{"availabilityZone":"az-2","securityGroups":[{"name":"workers"}],"networks":[{"uuid":"` + network2 + `"}]}`,
		"nothing but zone": `{"availabilityZone":"az-2"}`,
	} {
		for kind, change := range networkKinds {
			t.Run(reason+", "+kind, func(t *testing.T) {
				b := newBench(t, change)
				s, all := b.refused(t, first, patch)
				b.chosen(t, s, all[1].Name)
				b.holds(t, 1, 2)
				made, count := b.sent.With(ports), 0
				for _, r := range b.server.Requests() {
					if r.Operation == "neutron.POST.ports" && r.Status == 201 {
						count++
					}
				}
				if want := map[bool]int{true: 2, false: 4}[reason == "nothing but zone"]; count != want {
					t.Errorf("%d ports were made, want %d:\n%s", count, want, strings.Join(made, "\n"))
				}
				if reason != "nothing but zone" && !strings.Contains(made[len(made)-1], group1) {
					t.Errorf("the last port is %s", made[len(made)-1])
				}
				found, err := s.Find(t.Context(), ref("m"))
				if err != nil || len(found) != 1 || found[0].Zone != "az-2" || found[0].State != provider.Running {
					t.Fatalf("found %+v, error %v", found, err)
				}
				if err := b.remove(s, ref("m"), found...); err != nil {
					t.Fatal(err)
				}
				b.holds(t, 0, 0)
			})
		}
	}
}

// TestFallbackHasItsOwnVolumes: a volume in another zone could not be attached.
func TestFallbackHasItsOwnVolumes(t *testing.T) {
	b := newBench(t)
	s, all := b.refused(t, `{"rootVolume":{"diskSize":20,"availabilityZone":"nova"}}`, `{"availabilityZone":"az-2","rootVolume":{"availabilityZone":"az-2"}}`)
	b.chosen(t, s, all[1].Name)
	b.holds(t, 1, 2)
	if made := b.sent.With(volumes); len(made) != 2 || !strings.Contains(made[1], `"availability_zone":"az-2"`) {
		t.Errorf("the volumes were %q", made)
	}
}

// TestChoicesDoNotMakeTwo: a process with another choice finds the server of the first, although it is in
// another network and no listing shows it yet; and it waits while the port of a process that may be about
// to request its server exists.
func TestChoicesDoNotMakeTwo(t *testing.T) {
	const patch = `{"networks":[{"uuid":"` + network2 + `"}],"availabilityZone":"az-2"}`
	set := `{"networks":[{"uuid":"` + net1 + `"}]}`
	for kind, change := range networkKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t, change)
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), set)
			first, second := b.falling(class, patch), b.falling(class, patch)
			all := first.Traits().Choices
			b.cloud.SetLag(time.Hour)
			made, err := first.Create(t.Context(), ref("m"), provider.Want{Choice: all[0].Name, UserData: boot})
			if err != nil {
				t.Fatal(err)
			}
			if again, err := second.Create(t.Context(), ref("m"), provider.Want{Choice: all[1].Name, UserData: boot}); err != nil || again.ID != made.ID {
				t.Errorf("the other choice made %s, error %v; want %s", again.ID, err, made.ID)
			}
			b.holds(t, 1, 1)
		})
		t.Run(kind+", half made", func(t *testing.T) {
			b := newBench(t, change)
			class := b.class(provider.OpenShift, "c1")
			class.Spec = merged(t, string(class.Spec), set)
			b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "nova.POST.servers", Times: 1})
			first, second := b.falling(class, patch), b.falling(class, patch)
			all := first.Traits().Choices
			if _, err := first.Create(t.Context(), ref("m"), provider.Want{Choice: all[0].Name, UserData: boot}); provider.KindOf(err) != provider.Transient {
				t.Fatal(err)
			}
			if _, err := second.Create(t.Context(), ref("m"), provider.Want{Choice: all[1].Name, UserData: boot}); provider.KindOf(err) != provider.Conflict || provider.AfterOf(err) == 0 {
				t.Errorf("at once: %v, want a Conflict that says when to ask again", err)
			}
			b.holds(t, 0, 1)
			b.clock.Advance(2 * time.Minute)
			b.chosen(t, second, all[1].Name)
			b.holds(t, 1, 1)
		})
	}
}
