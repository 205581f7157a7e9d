package cloud_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/prism"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/nutanix/cloud"
)

// answering is a session with a Prism Central that gives the same answer to each request.
func answering(t *testing.T, status int, body string) provider.Session {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	session, err := cloud.New(cloud.Options{Clock: &double.Clock{}, Endpoint: s.URL}).Open(t.Context(), classOf("", "c1"))
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestAnswersOfOtherServers: an answer that is not Prism Central's never means that a virtual machine does not exist.
func TestAnswersOfOtherServers(t *testing.T) {
	ref := refOf("worker-1")
	ref.ProviderID = "nutanix://0005f1a0-0000-4000-8000-0000000000ab"
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"a page": {200, "<html>log in</html>"}, "no list": {200, "{}"}, "a list that is null": {200, `{"entities":null}`}, "another server has no such page": {404, "<html>not found</html>"},
		"another JSON": {404, `{"error":"no route"}`}, "nothing": {200, ""}, "a part of a list": {200, `{"entities":[],"metadata":{"total_matches":3}}`},
	} {
		s := answering(t, answer.status, answer.body)
		if all, err := s.Find(t.Context(), ref); err == nil {
			t.Errorf("%s: finds %v without an error", name, all)
		}
		if done, err := s.Delete(t.Context(), ref, []provider.Instance{{ID: "0005f1a0-0000-4000-8000-0000000000ab"}}); done {
			t.Errorf("%s: the deletion is done: %v", name, err)
		}
		for i, err := range s.List(t.Context()) {
			if err == nil {
				t.Errorf("%s: lists %v", name, i)
			}
		}
	}
}

// TestMissingReferences: what a spec refers to and does not exist is an error of its field.
func TestMissingReferences(t *testing.T) {
	const nowhere = "0005f1a0-0000-4000-8000-000000000999"
	for patch, field := range map[string]string{
		`{"cluster":{"name":"nothing"}}`: "cluster.name", `{"cluster":{"type":"uuid","uuid":"` + nowhere + `"}}`: "cluster.uuid", `{"image":{"name":"nothing"}}`: "image.name",
		`{"image":{"type":"uuid","uuid":"` + nowhere + `"}}`: "image.uuid", `{"subnets":[{"type":"name","name":"machines-a"},{"type":"name","name":"nothing"}]}`: "subnets[1].name",
		`{"project":{"type":"name","name":"nothing"}}`: "project.name", `{"categories":[{"key":"AppTier","value":"Nothing"}]}`: "categories[0]",
		`{"gpus":[{"type":"Name","name":"nothing"}]}`: "gpus[0]", `{"dataDisks":[{"diskSize":"1Gi","dataSource":{"type":"name","name":"nothing"}}]}`: "dataDisks[0].dataSource.name",
	} {
		w := sample(t)
		_, err := w.open(t, patched(t, classOf("", "c1"), patch)).Create(t.Context(), refOf("worker-1"), want)
		if e := asError(err); e == nil || e.Kind != provider.Invalid || e.Field != field {
			t.Errorf("%s: %v", patch, err)
		}
		if n := len(w.Received("POST vms")); n > 0 {
			t.Errorf("%s: %d requests", patch, n)
		}
	}
}

func asError(err error) *provider.Error {
	e, _ := err.(*provider.Error) //nolint:errorlint // sessions return them as they are
	return e
}

// TestNamesThatAreNotUnique: of two images with a name, none is used.
func TestNamesThatAreNotUnique(t *testing.T) {
	o := prism.Options{Inventory: prism.Sample()}
	o.Inventory.Images = append(o.Inventory.Images, prism.Named{UUID: double.UUID(), Name: "c1-rhcos"})
	_, err := newWorld(t, o).open(t, classOf("", "c1")).Create(t.Context(), refOf("worker-1"), want)
	if e := asError(err); e == nil || e.Field != "image.name" || !strings.Contains(err.Error(), "has 2 entities") {
		t.Error(err)
	}
}

// TestGPUsInUse: a model whose GPUs are all in use is no error of the spec.
func TestGPUsInUse(t *testing.T) {
	w := sample(t)
	s := w.open(t, patched(t, classOf("", "c1"), `{"gpus":[{"type":"DeviceID","deviceID":7864}]}`))
	for n, name := range []string{"worker-1", "worker-2", "worker-3"} {
		_, err := s.Create(t.Context(), refOf(name), want)
		if exhausted := provider.KindOf(err) == provider.Exhausted; exhausted != (n == 2) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCredentials: whatever is wrong with a secret, other credentials fix it; and no error quotes the secret.
func TestCredentials(t *testing.T) {
	for name, secret := range map[string]string{
		"no list": `{"type":"basic_auth"}`, "nothing": ``, "an empty list": `[]`, "another type": `[{"type":"api_key","data":{"prismCentral":{"username":"a","password":"hunter2"}}}]`,
		"no password": `[{"type":"basic_auth","data":{"prismCentral":{"username":"hunter2"}}}]`, "no JSON": `hunter2`, "a wrong password": `[{"type":"basic_auth","data":{"prismCentral":{"username":"machines","password":"hunter2"}}}]`,
	} {
		class := classOf("", "c1")
		class.Credentials = map[string][]byte{"credentials": []byte(secret)}
		_, err := sample(t).open(t, class).Find(t.Context(), refOf("worker-1"))
		if provider.KindOf(err) != provider.Denied || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	class := classOf("", "c1")
	class.Credentials = nil
	if _, err := sample(t).open(t, class).Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Denied {
		t.Error(err)
	}
}

// TestPrismCentralOfTheInfrastructure: address and port are the Infrastructure's, and its bundle of certificates is trusted.
func TestPrismCentralOfTheInfrastructure(t *testing.T) {
	w := sample(t)
	server := httptest.NewTLSServer(w.server)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	infra := `{"spec":{"platformSpec":{"nutanix":{"prismCentral":{"address":"` + at.Hostname() + `","port":` + at.Port() + `}}}}}`
	bundle := map[string]string{"": "", "with the bundle": `{"data":{"ca-bundle.pem":` + quoted(certificate(server)) + `}}`}
	for name, config := range bundle {
		o := objects{"Infrastructure": infra}
		if config != "" {
			o["ConfigMap"] = config
		}
		s, err := cloud.New(cloud.Options{Clock: w.clock, Objects: o}).Open(t.Context(), classOf("", "c1"))
		if err != nil {
			t.Fatal(err)
		}
		if account, err := s.Account(t.Context()); (err == nil) != (config != "") || err == nil && account != prism.Sample().Account {
			t.Errorf("%q: account %q, %v", name, account, err)
		}
	}
	s, err := cloud.New(cloud.Options{Clock: w.clock, Objects: objects{"Infrastructure": `{}`}}).Open(t.Context(), classOf("", "c1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "prismCentral") {
		t.Errorf("without an endpoint: %v", err)
	}
}

// TestUnknownFailureDomain: only creations need the failure domain. A machine is deleted after its failure domain.
func TestUnknownFailureDomain(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	class := patched(t, classOf("", "c1"), `{"failureDomain":{"name":"fd-b"},"cluster":null,"subnets":null}`)
	with, err := w.startWith(objects{"Infrastructure": infrastructureOfDomains}).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	i, err := with.Create(t.Context(), ref, want)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	if all := found(t, with, ref); len(all) != 1 || all[0].Zone != "cluster-b" || all[0].Region != "prism-central" || all[0].Type != "AHV" {
		t.Errorf("finds %+v", all)
	}
	without, err := w.startWith(objects{"Infrastructure": `{}`}).Open(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Create(t.Context(), refOf("worker-2"), want); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "fd-b") {
		t.Error(err)
	}
	if with.Traits().Source == without.Traits().Source {
		t.Error("a change of the Infrastructure is not seen")
	}
	w.remove(t, without, ref, []provider.Instance{i})
}

// TestDifferences: sizes, and a cluster that the spec names by name.
func TestDifferences(t *testing.T) {
	w, ref := sample(t), refOf("worker-1")
	class := classOf("", "c1")
	if _, err := w.open(t, class).Create(t.Context(), ref, want); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Minute)
	other := patched(t, class, `{"vcpuSockets":2,"vcpusPerSocket":4,"memorySize":"8Gi","cluster":{"name":"cluster-b"}}`)
	s := w.open(t, other)
	got := strings.Join(s.Differences(ref, found(t, s, ref)[0]), "\n")
	for _, line := range []string{
		"vcpuSockets: the virtual machine has 4, the spec says 2", "vcpusPerSocket: the virtual machine has 1, the spec says 4",
		"memorySize: the virtual machine has 16384Mi, the spec says 8192Mi", "cluster.name: the virtual machine has cluster-a, the spec says cluster-b",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in %q", line, got)
		}
	}
	s = w.open(t, class)
	if d := s.Differences(ref, found(t, s, ref)[0]); len(d) > 0 {
		t.Errorf("differences %q", d)
	}
}

// TestSize: the annotations of the original, which has them from the spec, and more.
func TestSize(t *testing.T) {
	sizer, _ := provider.As[provider.Sizer](sample(t).open(t, patched(t, classOf("", "c1"), `{"vcpusPerSocket":2,"gpus":[{"type":"DeviceID","deviceID":7864}]}`)))
	size, err := sizer.Size(t.Context())
	if err != nil || size.VCPU != 8 || size.MemoryMiB != 16384 || size.GPU != 1 || size.EphemeralStorageMiB != 122880 {
		t.Errorf("%+v, %v", size, err)
	}
}

func TestUserDataIsTooLong(t *testing.T) {
	large := want
	large.UserData = []byte(strings.Repeat("x", 100_000))
	_, err := sample(t).open(t, classOf("", "c1")).Create(t.Context(), refOf("worker-1"), large)
	if e := asError(err); e == nil || e.Field != "userDataSecret" {
		t.Error(err)
	}
}
