package larch_test

import (
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"example.org/larch"
	"example.org/larch/double"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const (
	small = `{"apiVersion": "larch.example.org/v1", "kind": "LarchMachine", "type": "small", "zones": ["north"], "image": "linux"}`
	large = `{"type": "large", "zones": ["north"], "image": "linux"}`
	both  = `{"type": "small", "zones": ["north", "south"], "image": "linux"}`
)

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		cloud, class := simulate(t)
		id := regexp.MustCompile(`^larch:///(north|south)/m-\d{6}$`)
		return providertest.Harness{
			Start:      func() provider.Provider { return larch.New(clock.RealClock{}) },
			Class:      class,
			ProviderID: map[string]*regexp.Regexp{provider.OpenShift: id, provider.Gardener: id},
			Changed:    func(c provider.Class) provider.Class { return with(c, large) },
			Choices:    func(c provider.Class) provider.Class { return with(c, both) },
			BadSpecs: []providertest.BadSpec{
				{Reason: "an unknown field", Spec: `{"type": "small", "zones": ["north"], "image": "linux", "zone": "south"}`, Field: "zone"},
				{Reason: "no type", Spec: `{"zones": ["north"], "image": "linux"}`, Field: "type"},
				{Reason: "no zone", Spec: `{"type": "small", "image": "linux"}`, Field: "zones"},
				{Reason: "no image", Spec: `{"type": "small", "zones": ["north"]}`, Field: "image"},
				{Reason: "a reserved tag", Spec: `{"type": "small", "zones": ["north"], "image": "linux", "tags": {"millwright-uid": ""}}`, Field: "tags"},
			},
			PageSize: cloud.PerPage,
			Knobs:    cloud.Knobs(),
		}
	})
}

// TestDiskElsewhere: a process that ended between two requests may leave the disk in a zone that is full now. The suite does not know disks.
func TestDiskElsewhere(t *testing.T) {
	cloud, class := simulate(t)
	c := with(class(provider.OpenShift, "c1"), both)
	ref := provider.Ref{UID: "a-uid", Namespace: "machines", Name: "m"}
	if err := cloud.Knobs().Leave(c, ref); err != nil { // in zone north
		t.Fatal(err)
	}
	s, err := larch.New(clock.RealClock{}).Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	south := provider.Want{Choice: "south"}
	if _, err := s.Create(t.Context(), ref, south); provider.KindOf(err) != provider.Conflict {
		t.Errorf("a disk exists in another zone: error %v, want a Conflict", err)
	}
	if i, err := s.Create(t.Context(), ref, south); err != nil || i.Zone != "south" {
		t.Errorf("the disk was deleted: a machine in zone %q, error %v, want zone south", i.Zone, err)
	}
}

// simulate starts Larch until the test ends. Its pages are short, because the suite fills two of them.
func simulate(t *testing.T) (*double.Larch, func(api, cluster string) provider.Class) {
	t.Helper()
	cloud := double.New(time.Now)
	cloud.PerPage = 7
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	return cloud, func(api, cluster string) provider.Class {
		return provider.Class{
			API: api, Cluster: cluster, Owner: "6f1e4a52-0000-4000-8000-000000000001", Spec: []byte(small),
			Credentials: map[string][]byte{"endpoint": []byte(server.URL), "token": []byte("secret")},
		}
	}
}

// with returns the class with another spec.
func with(class provider.Class, spec string) provider.Class {
	class.Spec = []byte(spec)
	return class
}
