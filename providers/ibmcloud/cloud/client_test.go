package cloud_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/ibmcloud/cloud"
)

// infra is the Infrastructure of a cluster, with endpoints.
type infra struct{ endpoints map[string]string }

func (o infra) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if ref.Kind != "Infrastructure" {
		return nil, provider.ErrNoObject
	}
	list := []map[string]string{}
	for name, url := range o.endpoints {
		list = append(list, map[string]string{"name": name, "url": url})
	}
	return json.Marshal(map[string]any{"status": map[string]any{"platformStatus": map[string]any{"type": "IBMCloud", "ibmcloud": map[string]any{"serviceEndpoints": list}}}})
}

// TestEndpointsOfTheCluster: the endpoints in the Infrastructure replace the public ones, and a change of them changes the source.
func TestEndpointsOfTheCluster(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	all := map[string]string{"IAM": w.url, "VPC": w.url + "/v1", "ResourceManager": w.url + "/", "GlobalTagging": w.url, "COS": "https://unused"}
	objects := infra{all}
	p := cloud.New(cloud.Options{Clock: w.clock, Objects: objects})
	s, err := p.Open(t.Context(), with(w.class("c1"), `"tags":[]`, `"tags":[{"name":"a"}]`))
	if err != nil {
		t.Fatal(err)
	}
	i := w.create(t, s, ref)
	maintainer, _ := provider.As[provider.Maintainer](s)
	if err := maintainer.Maintain(t.Context(), ref, i); err != nil || w.server.Counts()["attach_tag"] != 1 {
		t.Errorf("%v, %v", err, w.server.Counts())
	}
	source := s.Traits().Source
	delete(all, "COS")
	if s, err = p.Open(t.Context(), w.class("c1")); err != nil || s.Traits().Source != source || source == "" {
		t.Errorf("an unused endpoint counts: %v", err)
	}
	all["VPC"] = w.url + "/v2"
	if s, err = p.Open(t.Context(), w.class("c1")); err != nil || s.Traits().Source == source {
		t.Errorf("a changed endpoint does not count: %v", err)
	}
}

// TestTokens: one token serves for 48 minutes. A refused one is replaced at once.
func TestTokens(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	find := func(tokens int) {
		t.Helper()
		if _, err := s.Find(t.Context(), ref); err != nil || w.server.Counts()["request_token"] != tokens {
			t.Errorf("%v, requests %v, want %d tokens", err, w.server.Counts(), tokens)
		}
	}
	find(1)
	w.clock.Advance(47 * time.Minute)
	find(1)
	w.clock.Advance(2 * time.Minute)
	find(2)
	w.ExpireTokens()
	find(3)
}

// TestCredentials: a missing or unknown API key is Denied, and another key works in the same process.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	for key, says := range map[string]string{"": "ibmcloud_api_key", "unknown": "BXNIM0415E: Provided API key could not be found."} {
		class := w.class("c1")
		class.Credentials = map[string][]byte{"ibmcloud_api_key": []byte(key)}
		s, err := p.Open(t.Context(), class)
		if err == nil {
			_, err = s.Find(t.Context(), refOf("worker-1"))
		}
		if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), says) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	s, err := p.Open(t.Context(), w.class("c1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), refOf("worker-1")); err != nil {
		t.Errorf("with the key: %v", err)
	}
	if s, err = p.Open(t.Context(), provider.Class{API: provider.Gardener, Cluster: "c1", Spec: []byte(`{}`)}); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "has no specs for IBM Cloud") {
		t.Errorf("the other API: %v, %v", s, err)
	}
}

// TestStrangeAnswers: an answer without a list, with another form, or whose next page has no start never means that nothing exists.
func TestStrangeAnswers(t *testing.T) {
	for name, body := range map[string]string{
		"no list": `{}`, "null": `{"instances":null}`, "page": `<html>`, "no start": `{"instances":[],"next":{"href":"https://x/v1/instances"}}`,
		"the same page": `{"instances":[],"next":{"href":"https://x/v1/instances?start=1"}}`, "no object": `[]`,
	} {
		w := newWorld(t)
		s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/instances") {
				_, _ = rw.Write([]byte(body))
				return
			}
			w.server.ServeHTTP(rw, r)
		}))
		session, err := cloud.New(cloud.Options{Clock: &double.Clock{}, Endpoint: s.URL}).Open(t.Context(), w.class("c1"))
		if err != nil {
			t.Fatal(err)
		}
		if found, err := session.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if _, err := session.Create(t.Context(), refOf("worker-1"), want); provider.KindOf(err) != provider.Transient || len(w.Instances()) > 0 {
			t.Errorf("%s: create ends with %v", name, err)
		}
		s.Close()
	}
}

// TestSize: the profile has the size of an instance.
func TestSize(t *testing.T) {
	w := newWorld(t)
	sizer, _ := provider.As[provider.Sizer](w.open(t, with(w.class("c1"), `"bx2-4x16"`, `"gx3-16x80x1l4"`)))
	for range 2 {
		size, err := sizer.Size(t.Context())
		if err != nil || size.VCPU != 16 || size.MemoryMiB != 80<<10 || size.GPU != 1 || size.GPUResource != "nvidia.com/gpu" || size.Architecture != "amd64" || size.EphemeralStorageMiB != 120<<10 ||
			size.Labels["topology.kubernetes.io/zone"] != "us-south-1" || size.Labels["node.kubernetes.io/instance-type"] != "gx3-16x80x1l4" || w.server.Counts()["get_instance_profile"] != 1 {
			t.Errorf("%+v, %v, %v", size, err, w.server.Counts())
		}
	}
	sizer, _ = provider.As[provider.Sizer](w.open(t, with(w.class("c1"), `"bx2-4x16"`, `"other"`)))
	if _, err := sizer.Size(t.Context()); provider.KindOf(err) != provider.Invalid {
		t.Errorf("an unknown profile: %v", err)
	}
}

// TestPower: each power operation has one effect.
func TestPower(t *testing.T) {
	w, ref := newWorld(t), refOf("worker-1")
	s := w.open(t, w.class("c1"))
	i := w.create(t, s, ref)
	power, _ := provider.As[provider.Powerer](s)
	for _, step := range []struct {
		op    provider.PowerOp
		state string
		boots int
	}{
		{provider.PowerOn, "running", 0},
		{provider.Reboot, "running", 1},
		{provider.PowerOff, "stopped", 1},
		{provider.PowerOff, "stopped", 1},
		{provider.Reboot, "running", 2},
		{provider.PowerOff, "stopped", 2},
		{provider.PowerOn, "running", 3},
	} {
		if err := power.Power(t.Context(), ref, i, step.op, ""); err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(minute)
		if got := w.Instances()[0].State; got != step.state {
			t.Errorf("after %s it is %s", step.op, got)
		}
		if guests := w.Guests(); len(guests) == 1 && guests[0].Boots != step.boots {
			t.Errorf("after %s: %d boots, want %d", step.op, guests[0].Boots, step.boots)
		}
	}
	w.Vanish(i.ID)
	if err := power.Power(t.Context(), ref, i, provider.Reboot, ""); provider.KindOf(err) != provider.Conflict {
		t.Errorf("an instance that does not exist: %v", err)
	}
}
