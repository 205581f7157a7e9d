package cloud_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// TestInstancesOfTheOriginal: an instance of the original is found by its name in the VPC and the resource group of the spec, and
// gets the names of its machine. One with that name in another VPC is not found.
func TestInstancesOfTheOriginal(t *testing.T) {
	for _, vpc := range []string{"c1", "c2"} {
		w, ref := newWorld(t), refOf("worker-1")
		if err := w.plant(w.class(vpc), provider.Instance{Name: "worker-1"}); err != nil {
			t.Fatal(err)
		}
		s := w.open(t, w.class("c1"))
		found, err := s.Find(t.Context(), ref)
		if err != nil || len(found) != map[string]int{"c1": 1, "c2": 0}[vpc] {
			t.Fatalf("in %s: %+v, %v", vpc, found, err)
		}
		if len(found) == 0 {
			continue
		}
		if i, err := s.Create(t.Context(), ref, want); err != nil || i.ID != found[0].ID {
			t.Errorf("creates %s beside %s: %v", i.ID, found[0].ID, err)
		}
		maintainer, _ := provider.As[provider.Maintainer](s)
		if !maintainer.Unkept(ref, found[0]) {
			t.Error("an instance without marks is kept")
		}
		if err := maintainer.Maintain(t.Context(), ref, found[0]); err != nil {
			t.Error(err)
		}
		again, err := s.Find(t.Context(), ref)
		if err != nil || len(again) != 1 || again[0].UID != ref.UID || again[0].Namespace != "openshift-machine-api" || maintainer.Unkept(ref, again[0]) {
			t.Errorf("after the takeover %+v, %v", again, err)
		}
	}
}

// TestMarksOfAnotherMachine: Maintain never takes over the instance of another machine.
func TestMarksOfAnotherMachine(t *testing.T) {
	w := newWorld(t)
	s := w.open(t, w.class("c1"))
	i := w.create(t, s, refOf("worker-1"))
	maintainer, _ := provider.As[provider.Maintainer](s)
	i.UID = "" // as an older listing showed it
	if err := maintainer.Maintain(t.Context(), refOf("worker-2"), i); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Find(t.Context(), refOf("worker-1")); err != nil || len(found) != 1 || found[0].UID != refOf("worker-1").UID {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestTags: the tags of the spec are attached once, in one request, and again after a change of the spec. A missing permission
// concerns only the tags.
func TestTags(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	p := w.start()
	class := with(w.class("c1"), `"tags":[]`, `"tags":[{"name":"team","value":"blue"},{"name":"spot"},{"name":"team","value":"blue"}]`)
	s, err := p.Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	i := w.create(t, s, ref)
	maintainer, _ := provider.As[provider.Maintainer](s)
	for range 3 {
		if maintainer.Unkept(ref, i) {
			if err := maintainer.Maintain(t.Context(), ref, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	listed := w.Instances()[0].Tags
	if _, spot := listed["spot"]; listed["team"] != "blue" || !spot || w.server.Counts()["attach_tag"] != 1 {
		t.Errorf("tags %v, requests %v", listed, w.server.Counts())
	}
	s, err = p.Open(t.Context(), with(class, `"value":"blue"`, `"value":"red"`))
	if err != nil {
		t.Fatal(err)
	}
	if maintainer, _ = provider.As[provider.Maintainer](s); !maintainer.Unkept(ref, i) {
		t.Error("a changed tag is kept")
	}
	w.SetCredentials(w.without("attach_tag"))
	for range 2 {
		if err := maintainer.Maintain(t.Context(), ref, i); provider.KindOf(err) != provider.Denied {
			t.Errorf("without a permission: %v", err)
		}
	}
	if n := w.server.Counts()["attach_tag"]; n != 2 {
		t.Errorf("%d requests", n)
	}
	if _, err := s.Find(t.Context(), ref); err != nil {
		t.Errorf("find without the permission for tags: %v", err)
	}
}

// TestClassWithoutASpec: a machine is deleted after its spec, in the recorded region.
func TestClassWithoutASpec(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	i := w.create(t, w.open(t, w.class("c1")), ref)
	class := w.class("c1")
	class.Spec, class.Region = nil, ""
	if _, err := w.open(t, class).Find(t.Context(), ref); provider.KindOf(err) != provider.Transient {
		t.Errorf("without a region: %v", err)
	}
	if account, err := w.open(t, class).Account(t.Context()); err != nil || account != "3f5b8c1d2e4a4f6b9c7d8e0f1a2b3c4d" {
		t.Errorf("account %q, %v", account, err)
	}
	class.Region = "us-south"
	s := w.open(t, class)
	for _, id := range []string{"", i.ProviderID} {
		ref.ProviderID = id
		if found, err := s.Find(t.Context(), ref); err != nil || len(found) != 1 {
			t.Errorf("by %q: %v, %v", id, found, err)
		}
	}
	if err := w.plant(w.class("c1"), provider.Instance{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	old := provider.Ref{UID: refOf("old").UID, Name: "old", ProviderID: "ibm://3f5b8c1d2e4a4f6b9c7d8e0f1a2b3c4d///c1/" + w.idNamed("old")}
	if found, err := s.Find(t.Context(), old); err != nil || len(found) != 1 {
		t.Errorf("an instance of the original, by its provider ID: %v, %v", found, err)
	}
	old.ProviderID = "ibm://3f5b8c1d2e4a4f6b9c7d8e0f1a2b3c4d///c2/" + w.idNamed("old")
	if found, err := s.Find(t.Context(), old); err != nil || len(found) != 0 {
		t.Errorf("by the provider ID of another cluster: %v, %v", found, err)
	}
}

// TestStatus: the provider status has the form of the original's.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	s := w.open(t, w.class("c1"))
	i := w.create(t, s, refOf("worker-1"))
	raw, err := s.Status(i)
	var status struct {
		ID         string `json:"instanceId"`
		State      string `json:"instanceState"`
		Conditions []struct{ Type, Status, Reason string }
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		t.Fatal(err)
	}
	if err != nil || status.ID != i.ID || status.State != "running" || len(status.Conditions) != 1 || status.Conditions[0].Type != "MachineCreated" || status.Conditions[0].Reason != "MachineCreationSucceeded" {
		t.Errorf("%s, %v", raw, err)
	}
	if len(i.Addresses) != 2 || i.Addresses[0].Address != "worker-1" || i.Addresses[1].Type != "InternalIP" || i.Region != "us-south" || i.Zone != "us-south-1" || i.Type != "bx2-4x16" || time.Since(i.Created) > time.Hour {
		t.Errorf("%+v", i)
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t)
	identify := provider.Identifier(w.open(t, w.class("c1")))
	for id, want := range map[string]string{
		"ibm://3f5b///c1/0717_1e09": "ibm://0717_1e09", "IBM://3F5B///C1/0717_1E09": "ibm://0717_1e09", "": "", "0717_1e09": "", "aws:///us-east-1/i-0123": "",
		"ibm://3f5b/c1/0717_1e09": "", "ibmpowervs://a///c1/0717_1e09": "",
	} {
		if got := identify(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}
