package cloud_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// TestInstancesOfTheOriginals: an instance of an original is found by its name in the cluster, by the session of either API,
// whatever its role; an instance of another cluster with that name is not.
func TestInstancesOfTheOriginals(t *testing.T) {
	for _, original := range []string{provider.OpenShift, provider.Gardener} {
		for _, api := range []string{provider.OpenShift, provider.Gardener} {
			w, ref := sample(t), refOf("worker-1")
			for _, cluster := range []string{"c1", "c2"} {
				if err := w.plant(classOf(original, cluster), provider.Instance{Name: "worker-1"}); err != nil {
					t.Fatal(err)
				}
			}
			class := classOf(api, "c1")
			if api == provider.Gardener {
				class = with(class, "kubernetes.io/role/worker", "kubernetes.io/role/infra")
			}
			s := w.open(t, class)
			found, err := s.Find(t.Context(), ref)
			if err != nil || len(found) != 1 || found[0].UID != "" || found[0].Name != "worker-1" {
				t.Fatalf("%s by %s: %+v, %v", original, api, found, err)
			}
			if i, err := s.Create(t.Context(), ref, want); err != nil || i.ID != found[0].ID {
				t.Errorf("%s by %s: creates %s beside %s: %v", original, api, i.ID, found[0].ID, err)
			}
			maintainer, _ := provider.As[provider.Maintainer](s)
			if err := maintainer.Maintain(t.Context(), ref, found[0]); err != nil {
				t.Error(err)
			}
			if again, err := s.Find(t.Context(), ref); err != nil || len(again) != 1 || again[0].UID != ref.UID || again[0].Namespace != "machines" {
				t.Errorf("%s by %s: after the takeover %+v, %v", original, api, again, err)
			}
		}
	}
}

// TestTagNameOfAUser: in machine.sapcloud.io the tag Name is a user's, and no name of a machine.
func TestTagNameOfAUser(t *testing.T) {
	w := sample(t)
	s := w.open(t, with(classOf(provider.Gardener, "c1"), `"tags":{`, `"tags":{"Name":"pool-a",`))
	for _, name := range []string{"worker-1", "m"} {
		if _, err := s.Create(t.Context(), refOf(name), want); err != nil {
			t.Fatal(err)
		}
		found, err := s.Find(t.Context(), refOf(name))
		if err != nil || len(found) != 1 || found[0].Name != name || found[0].Tags["Name"] != "pool-a" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// TestClassWithoutASpec: a machine is deleted after its class, within the region of its provider ID.
func TestClassWithoutASpec(t *testing.T) {
	for _, api := range []string{provider.OpenShift, provider.Gardener} {
		w, ref := sample(t), refOf("worker-1")
		i, err := w.open(t, classOf(api, "c1")).Create(t.Context(), ref, want)
		if err != nil {
			t.Fatal(err)
		}
		class := classOf(api, "c1")
		class.Spec, class.Region = nil, ""
		s := w.open(t, class)
		if _, err := s.Find(t.Context(), ref); provider.KindOf(err) != provider.Transient {
			t.Errorf("without a region: %v", err)
		}
		ref.ProviderID = i.ProviderID
		if found, err := s.Find(t.Context(), ref); err != nil || len(found) != 1 {
			t.Errorf("%s: %v, %v", api, found, err)
		}
		if account, err := s.Account(t.Context()); err != nil || account != "1234567890123456" {
			t.Errorf("account %q, %v", account, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	identify := provider.Identifier(sample(t).open(t, classOf(provider.Gardener, "c1")))
	for id, want := range map[string]string{
		"cn-hangzhou.i-abc1": "alicloud://cn-hangzhou.i-abc1", "alicloud://cn-hangzhou.i-abc1": "alicloud://cn-hangzhou.i-abc1",
		"ALICLOUD://CN-Hangzhou.I-ABC1": "alicloud://cn-hangzhou.i-abc1", "": "", "i-abc1": "", "aws:///us-east-1/i-0123": "", "alicloud://cn-hangzhou/i-abc1": "",
		"alicloud://cn-hangzhou.eni-1": "", "x alicloud://cn-hangzhou.i-abc1": "",
	} {
		if got := identify(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

// TestSimulatorRecordsReleases: requests name their instances in the query, which the record of lives reads.
func TestSimulatorRecordsReleases(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	w.server.Remember()
	s := w.open(t, classOf(provider.Gardener, "c1"))
	if _, err := s.Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if _, err := s.Delete(t.Context(), ref, nil); err != nil {
		t.Fatal(err)
	}
	if lives := w.server.Lives(); len(lives) != 1 || lives[0].Ending.IsZero() {
		t.Errorf("lives: %+v", lives)
	}
}

// TestSearchByNameIsRepeated: while the absence of an instance is known, only its UID is searched. Ten seconds later the search
// by name shows an instance of another implementation.
func TestSearchByNameIsRepeated(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	s := w.open(t, classOf(provider.Gardener, "c1"))
	for n, requests := range []int{2, 3, 4} {
		if found, err := s.Find(t.Context(), ref); err != nil || len(found) > 0 || w.server.Counts()["DescribeInstances"] != requests {
			t.Errorf("search %d: %v, %v, %v", n, found, err, w.server.Counts())
		}
	}
	if err := w.plant(classOf(provider.Gardener, "c1"), provider.Instance{Name: "worker-1"}); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(11 * time.Second)
	if found, err := s.Find(t.Context(), ref); err != nil || len(found) != 1 {
		t.Errorf("after ten seconds: %v, %v", found, err)
	}
}
