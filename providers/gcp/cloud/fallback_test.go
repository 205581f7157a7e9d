package cloud

import (
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// falling opens a class with fallbacks, and returns its choices too.
func (b *bench) falling(class provider.Class, patches ...string) (provider.Session, []provider.Choice) {
	b.t.Helper()
	for _, p := range patches {
		class.Fallbacks = append(class.Fallbacks, []byte(p))
	}
	s, err := decorate.Fallback(b.start()).Open(b.t.Context(), class)
	if err != nil {
		b.t.Fatal(err)
	}
	return s, s.Traits().Choices
}

// chosen creates an instance of a choice, and returns the machine's instances a while later.
func (b *bench) chosen(s provider.Session, r provider.Ref, c provider.Choice) provider.Instance {
	b.t.Helper()
	if _, err := s.Create(b.t.Context(), r, provider.Want{Choice: c.Name}); err != nil {
		b.t.Fatalf("create %s of %q: %v", r.Name, c.Name, err)
	}
	b.clock.Advance(10 * time.Second)
	all, err := s.Find(b.t.Context(), r)
	if err != nil || len(all) != 1 {
		b.t.Fatalf("find %s: %d instances, error %v", r.Name, len(all), err)
	}
	return all[0]
}

// TestOneChoice: a spec with one zone and one type has one choice, with its capacity.
func TestOneChoice(t *testing.T) {
	b := newBench(t)
	for api, spot := range map[string][2]string{
		provider.OpenShift: {`"tags"`, `"preemptible": true, "tags"`}, provider.Gardener: {`"preemptible": false`, `"preemptible": true`},
	} {
		class := b.class(api, cluster)
		want := provider.Choice{Name: "n1-standard-4 in us-east1-b", Region: "us-east1", Zone: "us-east1-b", Type: "n1-standard-4"}
		if all := b.open(class).Traits().Choices; len(all) != 1 || all[0] != want {
			t.Errorf("%s has the choices %+v", api, all)
		}
		if all := b.open(with(class, spot[0], spot[1])).Traits().Choices; len(all) != 1 || all[0].Type == want.Type {
			t.Errorf("%s has the choices %+v on the spot market", api, all)
		}
		class.Spec = nil
		if all := b.open(class).Traits().Choices; len(all) != 0 {
			t.Errorf("%s has the choices %+v without a spec", api, all)
		}
	}
}

// TestFallback: without capacity in the first zone, the instance is created in the second, and the class's
// own session finds, lists and deletes it.
func TestFallback(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		t.Run(api, func(t *testing.T) {
			b := newBench(t)
			class := b.class(api, cluster)
			s, choices := b.falling(class, `{"zone": "us-east1-c"}`, `{"machineType": "n2-standard-4"}`)
			if len(choices) != 3 || choices[1].Zone != "us-east1-c" || choices[2].Type != "n2-standard-4" {
				t.Fatalf("the choices are %+v", choices)
			}
			if err := b.cloud.Do("exhaust", "us-east1-b/n1-standard-4"); err != nil {
				t.Fatal(err)
			}
			if i := b.chosen(s, ref("m"), choices[0]); i.Fault == nil || i.Fault.Kind != provider.Exhausted || i.Zone != "us-east1-b" || i.Type != "n1-standard-4" {
				t.Errorf("of the first choice came %+v", i)
			}
			i := b.chosen(s, ref("m"), choices[1])
			if i.State != provider.Running || i.Zone != "us-east1-c" || i.Fault != nil {
				t.Errorf("of the second choice came %+v", i)
			}
			if other := b.chosen(s, ref("other"), choices[2]); other.Zone != "us-east1-b" || other.Type != "n2-standard-4" || other.State != provider.Running {
				t.Errorf("of the third choice came %+v", other)
			}
			base := b.open(class)
			if found := b.find(base, ref("m")); found.ID != i.ID {
				t.Errorf("the class itself finds %+v", found)
			}
			listed := map[string]bool{}
			for one, err := range base.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				listed[one.Name] = true
			}
			if !listed["m"] || !listed["other"] {
				t.Errorf("listed are %v", listed)
			}
			b.remove(base, ref("m"))
			if left := b.cloud.Instances(); len(left) != 1 {
				t.Errorf("%d instances are left", len(left))
			}
		})
	}
}

// TestFallbackOfTheSameZone: another type in the same zone has a request ID of its own, and the same name.
func TestFallbackOfTheSameZone(t *testing.T) {
	b := newBench(t)
	s, choices := b.falling(b.class(provider.OpenShift, cluster), `{"machineType": "n2-standard-4"}`)
	if err := b.cloud.Do("exhaust", "us-east1-b/n1-standard-4"); err != nil {
		t.Fatal(err)
	}
	b.chosen(s, ref("m"), choices[0])
	if again := b.chosen(s, ref("m"), choices[0]); again.Fault == nil {
		t.Errorf("the choice that was given up is made once more: %+v", again)
	}
	if i := b.chosen(s, ref("m"), choices[1]); i.Type != "n2-standard-4" || i.State != provider.Running {
		t.Errorf("of the second choice came %+v", i)
	}
}

// TestFallbackFromAQuota: an exhausted quota of a series, or of spot instances, does not exclude other
// choices.
func TestFallbackFromAQuota(t *testing.T) {
	for quota, spec := range map[string][2]string{
		"N2_CPUS": {`"n1-standard-4"`, `"n2-standard-4"`}, "PREEMPTIBLE_CPUS": {`"tags"`, `"preemptible": true, "tags"`},
	} {
		t.Run(quota, func(t *testing.T) {
			b := newBench(t)
			s, choices := b.falling(with(b.class(provider.OpenShift, cluster), spec[0], spec[1]), `{"machineType": "n1-standard-4", "preemptible": false}`)
			if err := b.cloud.Do("quota", "us-east1/"+quota+"=2"); err != nil {
				t.Fatal(err)
			}
			if i := b.chosen(s, ref("m"), choices[0]); i.Fault == nil || i.Fault.Kind != provider.Exhausted || i.Fault.Scope != provider.ScopeType {
				t.Errorf("of the first choice came %+v, %v", i, i.Fault)
			}
			if i := b.chosen(s, ref("m"), choices[1]); i.State != provider.Running || i.Type != "n1-standard-4" || i.Interruptible {
				t.Errorf("of the second choice came %+v", i)
			}
		})
	}
}

// TestFallbackGivenUp: the class's own session reports the failure of a fallback's instance, with its type
// and zone, also after a restart.
func TestFallbackGivenUp(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.Gardener, cluster)
	s, choices := b.falling(class, `{"zone": "us-east1-c", "machineType": "n2-standard-4"}`)
	if err := b.cloud.Do("exhaust", "us-east1-c/n2-standard-4"); err != nil {
		t.Fatal(err)
	}
	b.chosen(s, ref("m"), choices[1])
	i := b.find(b.open(class), ref("m"))
	if i.Fault == nil || i.Zone != "us-east1-c" || i.Type != "n2-standard-4" || !strings.Contains(i.Fault.Error(), "us-east1-c") {
		t.Errorf("it is %+v", i)
	}
	b.remove(b.open(class), ref("m"))
}

// TestFallbackLeavesPools: an instance in a fallback's zone that another client deleted is removed from
// target pools.
func TestFallbackLeavesPools(t *testing.T) {
	b := newBench(t)
	class := with(b.class(provider.OpenShift, cluster), `"tags"`, `"targetPools": ["prod-api"], "tags"`)
	s, choices := b.falling(class, `{"zone": "us-east1-c"}`)
	i := b.chosen(s, ref("m"), choices[1])
	base := b.open(class)
	b.kept(base, ref("m"))
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) != 1 || !strings.Contains(got[0], "us-east1-c") {
		t.Fatalf("the pool has %q", got)
	}
	if err := b.cloud.Do("terminate", i.ID); err != nil {
		t.Fatal(err)
	}
	b.remove(base, ref("m"))
	if got := b.cloud.Members("targetPools", "us-east1", "prod-api"); len(got) > 0 {
		t.Errorf("the pool has %q after all", got)
	}
}

// TestScopeIsTheCluster: specs of other zones, types and pools list the same instances; those of another
// project do not.
func TestScopeIsTheCluster(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, cluster)
	scope := b.open(class).Traits().Scope
	for _, change := range [][2]string{{"us-east1-b", "us-east1-c"}, {"n1-standard-4", "n2-standard-4"}, {`"tags"`, `"targetPools": ["prod-api"], "tags"`}} {
		if got := b.open(with(class, change[0], change[1])).Traits().Scope; got != scope {
			t.Errorf("with %s the scope is %q, not %q", change[1], got, scope)
		}
	}
	if got := b.open(with(class, `"rehearsal"`, `"another"`)).Traits().Scope; got == scope {
		t.Errorf("another project has the scope %q too", got)
	}
}
