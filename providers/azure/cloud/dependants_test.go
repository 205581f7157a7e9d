package cloud_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
)

// TestDisksThatOutlive: such disks stay, and are no leftovers, whatever the spec says by then.
func TestDisksThatOutlive(t *testing.T) {
	w := newWorld(t)
	c := patched(t, class(provider.OpenShift, "c1"), `{"dataDisks":[{"nameSuffix":"keep","diskSizeGB":7,"lun":0,"deletionPolicy":"Detach"},{"nameSuffix":"go","diskSizeGB":7,"lun":1,"deletionPolicy":"Delete"}]}`)
	s := w.open(c)
	i := w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	c.Spec = nil
	for _, later := range []provider.Session{s, w.open(c)} {
		w.remove(later, machine(1), i)
		left := w.cloud.Orphans()
		if len(left) != 1 || !strings.HasSuffix(left[0], machine(1).Name+"_keep") {
			t.Errorf("left are %v", left)
		}
		l, _ := provider.As[provider.LeftoverLister](later)
		for found, err := range l.Leftovers(t.Context()) {
			t.Errorf("listed as left behind: %+v, error %v", found, err)
		}
	}
}

// TestFullOfTags: a machine with as many tags as the original accepts is created, found and maintained,
// with an owner and with disks that outlive it.
func TestFullOfTags(t *testing.T) {
	w := newWorld(t)
	tags := map[string]string{}
	for n := range 45 {
		tags[fmt.Sprintf("k%02d", n)] = "v"
	}
	patch, _ := json.Marshal(map[string]any{"tags": tags, "dataDisks": []any{map[string]any{"nameSuffix": "keep", "diskSizeGB": 7, "lun": 0, "deletionPolicy": "Detach"}}})
	c := patched(t, class(provider.OpenShift, "c1"), string(patch))
	c.Owner = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11"
	s := w.open(c)
	w.create(s, machine(1))
	w.clock.Advance(time.Minute)
	i := w.only(s, machine(1))
	if len(i.Tags) != 50 || i.Owner != c.Owner || i.UID != machine(1).UID {
		t.Errorf("%d tags, owner %q, UID %q", len(i.Tags), i.Owner, i.UID)
	}
	before := w.server.Counts()["PATCH virtualMachines"]
	if err := maintainer(t, s).Maintain(t.Context(), machine(1), i); err != nil || w.server.Counts()["PATCH virtualMachines"] != before {
		t.Errorf("a machine without room for one of our tags is changed: %v", err)
	}
	w.remove(s, machine(1), i)
	if left := w.cloud.Orphans(); len(left) != 1 || !strings.HasSuffix(left[0], "_keep") {
		t.Errorf("left are %v", left)
	}
}

// TestAvailabilitySets: they are created if a size is in no zone, shared by the machines of a set, and
// deleted with the last.
func TestAvailabilitySets(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.OpenShift, "c1"), `{"zone":null,"vmSize":"Standard_A2_v2","location":"westus"}`))
	set := "/subscriptions/" + arm.SampleSubscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/availabilitySets/c1-worker-as"
	one, two := machine(1), machine(2)
	one.Name, two.Name = "c1-worker-bcdfg", "c1-worker-hjklm"
	first, second := w.create(s, one), w.create(s, two)
	if got := at(t, w.cloud.Read(first.ID), "properties.availabilitySet.id"); got != set || w.server.Counts()["PUT availabilitySets"] != 1 {
		t.Errorf("in %s, of %d", got, w.server.Counts()["PUT availabilitySets"])
	}
	w.remove(s, one, first)
	if w.cloud.Read(set) == nil {
		t.Error("the set is gone while a machine is in it")
	}
	w.remove(s, two, second)
	if w.cloud.Read(set) != nil {
		t.Error("the set outlives its machines")
	}
	three := machine(3) // of no set, by its name
	if i := w.create(s, three); at(t, w.cloud.Read(i.ID), "properties.availabilitySet.id") != "null" && at(t, w.cloud.Read(i.ID), "properties.availabilitySet") != "null" {
		t.Error("a machine of no set is in one")
	}
}

// TestImagesThatAreSold: their terms are accepted once, and the machine has the plan. TestTermsAreSkipped
// if the spec says so.
func TestImagesThatAreSold(t *testing.T) {
	w := newWorld(t)
	c := patched(t, class(provider.Gardener, "c1"), properties(`{"storageProfile":{"imageReference":{"urn":"vendor:appliance:paid:1.0.0"}}}`))
	s := w.open(c)
	for n := range 2 {
		i := w.create(s, machine(n))
		if got := at(t, w.cloud.Read(i.ID), "plan.name"); got != "paid" {
			t.Errorf("plan %s", got)
		}
	}
	if n := w.server.Counts()["PUT agreements"]; n != 1 {
		t.Errorf("terms were accepted %d times", n)
	}
}

func TestTermsAreSkipped(t *testing.T) {
	w := newWorld(t)
	s := w.open(patched(t, class(provider.Gardener, "c1"), properties(`{"storageProfile":{"imageReference":{"urn":"vendor:appliance:paid:1.0.0","skipMarketplaceAgreement":true}}}`)))
	_, err := s.Create(t.Context(), machine(1), want)
	demandInvalid(t, err, "properties.storageProfile.imageReference")
	if n := w.server.Counts()["GET agreements"] + w.server.Counts()["GET images"]; n > 0 {
		t.Errorf("%d looks at terms", n)
	}
}

// TestWhatIsStillBeingMade: no call waits for an interface, an address or a disk; each proceeds as far as
// it can.
func TestWhatIsStillBeingMade(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t, func(o *arm.Options) { o.Network = 10 * time.Second })
		c := class(api, "c1")
		if api == provider.Gardener {
			c = patched(t, c, ofDisk(ofImage+`{"urn":"sap:gardenlinux:greatest:1877.4.0"}`))
		}
		s := w.open(c)
		var i provider.Instance
		for tries := 0; i.ID == ""; tries++ {
			var err error
			if i, err = s.Create(t.Context(), machine(1), want); err != nil && provider.KindOf(err) != provider.Conflict || tries > 5 {
				t.Fatal(err)
			}
			w.clock.Advance(11 * time.Second)
		}
		if n := w.server.Counts()["PUT networkInterfaces"]; n != 1 {
			t.Errorf("%d interfaces were asked for", n)
		}
		w.remove(s, machine(1), i)
		w.empty()
	})
}

// TestFailedDiskIsMadeAgain: a disk that Azure failed to create is unusable, and blocks its name.
func TestFailedDiskIsMadeAgain(t *testing.T) {
	w := newWorld(t, func(o *arm.Options) { o.Network = 10 * time.Second })
	s := w.open(patched(t, class(provider.Gardener, "c1"), ofDisk(ofImage+`{"urn":"sap:gardenlinux:greatest:1877.4.0"}`)))
	told, spoiled := "", false
	var i provider.Instance
	for tries := 0; i.ID == ""; tries++ {
		var err error
		if i, err = s.Create(t.Context(), machine(1), want); err != nil && provider.KindOf(err) != provider.Conflict || tries > 9 {
			t.Fatal(tries, err)
		}
		if err != nil {
			told += err.Error() + "\n"
		}
		for _, id := range w.cloud.Orphans() {
			if !spoiled && strings.Contains(id, "/disks/") {
				if spoiled = true; w.cloud.Do("spoil", id) != nil {
					t.Fatal(id)
				}
			}
		}
		w.clock.Advance(11 * time.Second)
	}
	if !strings.Contains(told, "which Azure failed to make, is being removed") {
		t.Errorf("told is %s", told)
	}
	w.remove(s, machine(1), i)
	w.empty()
}

// TestHalfMade: a Create that ends after any request leaves nothing that Delete does not find.
func TestHalfMade(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		for _, operation := range []string{"PUT networkInterfaces", "PUT publicIPAddresses", "PUT virtualMachines"} {
			w := newWorld(t)
			s := w.open(class(api, "c1"))
			w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: operation, Times: 1, Done: true})
			_, err := s.Create(t.Context(), machine(1), want)
			if hit := w.server.Counts()[operation] > 0; hit && provider.KindOf(err) != provider.Transient {
				t.Errorf("%s: %v", operation, err)
			}
			w.remove(w.open(class(api, "c1")), machine(1))
			w.empty()
		}
	})
}

// TestNoAnswer: a canceled call returns, and the requested machine is found.
func TestNoAnswer(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		s := w.open(class(api, "c1"))
		first := w.create(s, machine(1)) // logged in
		w.server.Inject(double.Fault{Operation: "PUT virtualMachines", Times: 1, Done: true, Stall: true})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if _, err := s.Create(ctx, machine(2), want); provider.KindOf(err) != provider.Transient || time.Since(began) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		second := w.create(s, machine(2))
		w.remove(s, machine(1), first)
		w.remove(s, machine(2), second)
		w.empty()
	})
}

// TestNamesakes: a machine of that name with another UID, or of another cluster in the same resource group,
// is left alone, and keeps its name.
func TestNamesakes(t *testing.T) {
	eachAPI(t, func(t *testing.T, api string) {
		w := newWorld(t)
		theirs := w.open(class(api, "c2"))
		other := machine(1)
		other.UID = "another"
		w.create(theirs, other)
		for _, cluster := range []string{"c1", "c2"} {
			s := w.open(class(api, cluster))
			if _, err := s.Create(t.Context(), machine(1), want); provider.KindOf(err) != provider.Conflict || !strings.Contains(err.Error(), "the name is taken") {
				t.Errorf("%s: %v", cluster, err)
			}
			if done, err := s.Delete(t.Context(), machine(1), nil); err != nil || !done {
				t.Errorf("%s: done %t, error %v", cluster, done, err)
			}
		}
		w.clock.Advance(time.Minute)
		if i := w.only(theirs, other); i.State != provider.Running {
			t.Errorf("it is %s", i.State)
		}
	})
}
