package cloud_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubevirt/cloud"
)

// TestAnswers: the errors of an API server, or of a proxy in its place, by kind. None of them means "not
// found".
func TestAnswers(t *testing.T) {
	const asJSON, asText, asPage = "application/json", "text/plain; charset=utf-8", "text/html"
	status := func(reason, message, details string) string {
		return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"` + message + `","reason":"` + reason + `","details":` + details + `}`
	}
	for _, r := range []struct {
		reason     string
		code       int
		form, body string
		kind       provider.Kind
		scope      provider.Scope
		field      string
		text       string
	}{
		{reason: "a quota", code: 403, form: asJSON, body: status("Forbidden", `virtualmachines.kubevirt.io \"m\" is forbidden: exceeded quota: machines, requested: count/virtualmachines.kubevirt.io=1`, `{}`), kind: provider.Exhausted, scope: provider.ScopeAccount, text: "exceeded quota: machines"},
		{reason: "a missing right", code: 403, form: asJSON, body: status("Forbidden", `virtualmachines.kubevirt.io is forbidden: User \"x\" cannot list`, `{}`), kind: provider.Denied, text: "cannot list"},
		{reason: "a policy of the cluster's", code: 403, form: asJSON, body: status("Forbidden", `admission webhook \"policy\" denied the request: too large`, `{}`), kind: provider.Invalid, text: "too large"},
		{reason: "credentials that hold no more", code: 401, form: asJSON, body: status("Unauthorized", "Unauthorized", `{}`), kind: provider.Denied, text: "the credentials of the kubeconfig"},
		{reason: "too many requests", code: 429, form: asText, body: "Too many requests, please try again later.", kind: provider.Throttled},
		{reason: "a field of the virtual machine", code: 422, form: asJSON, body: status("Invalid", "denied", `{"causes":[{"reason":"FieldValueInvalid","message":"too much","field":"spec.template.spec.domain.resources.requests.memory"}]}`), kind: provider.Invalid, field: "resources.requests.memory", text: "too much"},
		{reason: "a field of the root volume", code: 422, form: asJSON, body: status("Invalid", "denied", `{"causes":[{"message":"no","field":"spec.dataVolumeTemplates[0].spec.pvc"}]}`), kind: provider.Invalid, field: "rootVolume.pvc"},
		{reason: "a field of an interface", code: 422, form: asJSON, body: status("Invalid", "denied", `{"causes":[{"message":"no","field":"spec.template.spec.domain.devices.interfaces[0].name"}]}`), kind: provider.Invalid, field: "networks"},
		{reason: "a field that no spec decides", code: 422, form: asJSON, body: status("Invalid", "denied", `{"causes":[{"message":"no","field":"metadata.name"}]}`), kind: provider.Invalid, field: "metadata.name"},
		{reason: "a namespace that is not there", code: 404, form: asJSON, body: status("NotFound", `namespaces \"demo\" not found`, `{"kind":"namespaces","name":"demo"}`), kind: provider.Denied, text: "no namespace demo"},
		{reason: "a kind that nobody serves", code: 404, form: asText, body: "404 page not found\n", kind: provider.Transient, text: "are KubeVirt and CDI installed"},
		{reason: "the same, as a status", code: 404, form: asJSON, body: status("NotFound", "the server could not find the requested resource", `{}`), kind: provider.Transient, text: "are KubeVirt and CDI installed"},
		{reason: "an API server that does not come to it", code: 504, form: asJSON, body: status("Timeout", "the server was unable to return a response in the time allotted", `{}`), kind: provider.Transient},
		{reason: "a webhook that is away", code: 500, form: asJSON, body: status("InternalError", "failed calling webhook", `{}`), kind: provider.Transient, text: "failed calling webhook"},
		{reason: "a page of a proxy", code: 502, form: asPage, body: "<html><body>Bad Gateway abc123</body></html>", kind: provider.Transient, text: "answers with status 502, and not as an API server does"},
		{reason: "a page of a proxy that asks for a login", code: 200, form: asPage, body: "<html><body>Please log in.</body></html>", kind: provider.Transient, text: "something else than a VirtualMachineList"},
		{reason: "JSON of somebody else", code: 200, form: asJSON, body: `{}`, kind: provider.Transient, text: "something else than a VirtualMachineList"},
		{reason: "a page that denies", code: 403, form: asPage, body: "<html>no</html>", kind: provider.Denied, text: "status 403"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", r.form)
				w.WriteHeader(r.code)
				_, _ = w.Write([]byte(r.body))
			}))
			defer server.Close()
			class := newBench(t).class(provider.OpenShift, "c1")
			class.Credentials["kubeconfig"] = kubeconfig(server, "demo", "secret")
			s, err := cloud.New(cloud.Config{Clock: &double.Clock{}}).Open(t.Context(), class)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Find(t.Context(), machineRef("m"))
			e := asProvider(err)
			if len(found) > 0 || err == nil || e.Kind != r.kind || e.Scope != r.scope || e.Field != r.field || !strings.Contains(err.Error(), r.text) {
				t.Errorf("comes out as %v: kind %s, scope %q, field %q", err, e.Kind, e.Scope, e.Field)
			}
			if strings.Contains(err.Error(), "<html") || strings.Contains(err.Error(), "labelSelector") || strings.Contains(err.Error(), server.URL) {
				t.Errorf("repeats what is another text each time: %v", err)
			}
		})
	}
}

func asProvider(err error) provider.Error {
	for ; err != nil; err = unwrap(err) {
		if e, ok := err.(*provider.Error); ok { //nolint:errorlint // It looks at each.
			return *e
		}
	}
	return provider.Error{Kind: provider.Transient}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// TestNotInstalled: if a part of KubeVirt is missing, no object counts as deleted.
func TestNotInstalled(t *testing.T) {
	for _, resource := range []string{"virtualmachines", "datavolumes"} {
		t.Run(resource, func(t *testing.T) {
			b := newBench(t, func(o *kubevirt.Options) { o.Without = []string{resource} })
			s := b.session(b.class(provider.OpenShift, "c1"))
			done, err := s.Delete(t.Context(), machineRef("m"), nil)
			if done || provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "installed there, and ready") {
				t.Errorf("delete says %t, %v", done, err)
			}
		})
	}
}

// TestAnotherNamespace: a namespace that was created again is another account, and one that does not exist is
// no account.
func TestAnotherNamespace(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	class.Credentials = b.credentials("gone", "secret")
	if name, err := b.session(class).Account(t.Context()); name != "" || provider.KindOf(err) != provider.Denied {
		t.Errorf("is account %q, %v", name, err)
	}
}

// TestKubeconfigs: the valid kubeconfigs, and those that would use files or programs of the host.
func TestKubeconfigs(t *testing.T) {
	b := newBench(t)
	good := string(kubeconfig(b.http, "demo", "secret"))
	for _, r := range []struct {
		reason, from, to, text string
	}{
		{"a good one", "", "", ""},
		{"none", good, "", "needs a key kubeconfig"},
		{"no YAML", good, "{", "is no kubeconfig"},
		{"no context", "current-context: machines", "current-context: x", `no context "x"`},
		{"no user", "user: machines,", "user: x,", "does not have"},
		{"a program", `token: "secret"`, `exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}`, "has exec"},
		{"a plugin", `token: "secret"`, `auth-provider: {name: gcp}`, "has auth-provider"},
		{"a token of the host's", `token: "secret"`, `tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`, "has tokenFile"},
		{"a certificate of the host's", `token: "secret"`, `client-certificate: /a, client-key: /b`, "of another machine"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			class := b.class(provider.OpenShift, "c1")
			class.Credentials["kubeconfig"] = []byte(strings.Replace(good, r.from, r.to, 1))
			_, err := b.session(class).Find(t.Context(), machineRef("m"))
			if r.text == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), r.text) {
				t.Errorf("says %v", err)
			}
		})
	}
}

// TestFrugal: reading a running machine takes two calls, and reading those of the two originals one listing
// each. A listed machine is not read again to be deleted.
func TestFrugal(t *testing.T) {
	b := newBench(t)
	class, ref := b.class(provider.OpenShift, "c1"), machineRef("m")
	b.running(class, ref)
	before := len(b.server.Requests())
	b.only(class, ref)
	var asked []string
	for _, r := range b.server.Requests()[before:] {
		asked = append(asked, r.Operation)
	}
	if !slices.Equal(asked, []string{"virtualmachines.list", "virtualmachineinstances.get"}) {
		t.Errorf("find asks %v", asked)
	}
	before = len(b.server.Requests())
	for _, err := range b.session(class).List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.server.Requests()) - before; n != 4 {
		t.Errorf("list asks %d times", n)
	}
	for _, sent := range b.sent.With("GET /apis/kubevirt.io/v1/namespaces/demo/virtualmachines?") {
		if query, _ := url.QueryUnescape(sent); !strings.Contains(query, "limit=500") {
			t.Errorf("a list without a limit: %s", query)
		}
	}
	i := b.only(class, ref)
	before, asked = len(b.server.Requests()), nil
	if _, err := b.session(class).Delete(t.Context(), ref, []provider.Instance{i}); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.server.Requests()[before:] {
		asked = append(asked, r.Operation)
	}
	if !slices.Equal(asked, []string{"virtualmachines.list", "virtualmachines.delete"}) {
		t.Errorf("delete asks %v", asked)
	}
}
