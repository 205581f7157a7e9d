package cloud_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
	"github.com/millwright-dev/millwright/provider"
)

// account opens the class and returns its account.
func (b *bench) account(class provider.Class) (string, error) {
	s, err := b.start().Open(b.t.Context(), class)
	if err != nil {
		return "", err
	}
	return s.Account(b.t.Context())
}

const demo, other = "d78a07adc9ba43de9b5aa85305697bd4", "3f7c0a0b4c6f4d0d9f6d8a4a57d3c1e2"

// TestCredentials: every spelling of both originals opens the intended project, whichever API the class
// has.
func TestCredentials(t *testing.T) {
	b := newBench(t)
	url := b.http.URL + "/identity/v3"
	keys := func(pairs ...string) map[string][]byte {
		m := map[string][]byte{"authURL": []byte(url)}
		for n := 0; n < len(pairs); n += 2 {
			m[pairs[n]] = []byte(pairs[n+1])
		}
		return m
	}
	file := func(auth string) map[string][]byte {
		return map[string][]byte{"clouds.yaml": fmt.Appendf(nil, "clouds: {openstack: {region_name: RegionOne, auth: {auth_url: %q, %s}}}", url, auth)}
	}
	const app = "0d1e7b4f3b0a4d6c8f0d9a1e5c7b2f64"
	for _, r := range []struct {
		reason string
		with   map[string][]byte
		want   string // empty: denied
	}{
		{"names in one domain", keys("username", "machines", "password", "secret", "domainName", "Default", "tenantName", "demo"), demo},
		{"the domain's ID", keys("username", "machines", "password", "secret", "domainID", "default", "tenantName", "other"), other},
		{"the user's domain beside the project's", keys("username", "machines", "password", "secret", "userDomainName", "Default", "domainID", "default", "tenantName", "demo"), demo},
		{"the user's domain alone", keys("username", "machines", "password", "secret", "userDomainID", "default", "tenantName", "demo"), demo},
		{"the project's ID", keys("username", "machines", "password", "secret", "domainName", "Default", "tenantID", other), other},
		{"an application credential", keys("applicationCredentialID", app, "applicationCredentialSecret", "app-secret"), demo},
		{"and a tenant beside it, which Keystone would refuse as a scope", keys("applicationCredentialID", app, "applicationCredentialSecret", "app-secret", "tenantName", "other", "domainName", "Default"), demo},
		{"an application credential by its name", keys("applicationCredentialName", "machines", "applicationCredentialSecret", "app-secret", "username", "machines", "domainName", "Default"), demo},
		{"a password with a line's end", keys("username", "machines\n", "password", "secret", "domainName", "Default\n", "tenantName", "demo\n"), demo},
		{"a clouds.yaml", file("username: machines, password: secret, project_name: demo, user_domain_name: Default, project_domain_name: Default"), demo},
		{"with one domain for both", file("username: machines, password: secret, project_name: other, domain_name: Default"), other},
		{"with a name of one domain and an ID of the other", file("username: machines, password: secret, project_name: demo, user_domain_name: Default, project_domain_id: default"), demo},
		{"with IDs", file("user_id: 9af92b1ad6654624b07ab7f60366c1b1, password: secret, project_id: " + other), other},
		{"with an application credential", file("application_credential_id: " + app + ", application_credential_secret: app-secret"), demo},
		{"a wrong password", keys("username", "machines", "password", "wrong", "domainName", "Default", "tenantName", "demo"), ""},
		{"a project that there is not", keys("username", "machines", "password", "secret", "domainName", "Default", "tenantName", "nope"), ""},
		{"a wrong secret of an application credential", keys("applicationCredentialID", app, "applicationCredentialSecret", "wrong"), ""},
		{"nothing but a URL", keys(), ""},
		{"no URL", map[string][]byte{"username": []byte("machines")}, ""},
		{"nothing at all", nil, ""},
		{"no YAML", map[string][]byte{"clouds.yaml": []byte("password: [secret")}, ""},
		{"another cloud than the spec names", map[string][]byte{"clouds.yaml": []byte("clouds: {mine: {auth: {auth_url: x}}}")}, ""},
		{"no auth", map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {}}")}, ""},
		{"no URL in it", file("auth_url: '', username: machines"), ""},
	} {
		t.Run(r.reason, func(t *testing.T) {
			for _, api := range []string{provider.OpenShift, provider.Gardener} {
				class := b.class(api, "c1")
				class.Credentials = r.with
				got, err := b.account(class)
				if got != r.want || (r.want == "") != (provider.KindOf(err) == provider.Denied) {
					t.Errorf("%s: account %q, error %v of kind %s", api, got, err, provider.KindOf(err))
				}
				if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "wrong")) {
					t.Errorf("the error tells a secret: %v", err)
				}
			}
		})
	}
}

// TestCloudName: the spec names one of several clouds; a class without a spec uses the only one.
func TestCloudName(t *testing.T) {
	b := newBench(t)
	url := b.http.URL + "/identity/v3"
	const auth = "auth: {auth_url: %q, username: machines, password: secret, project_name: %s, domain_name: Default}, region_name: RegionOne"
	class := b.class(provider.OpenShift, "c1")
	class.Credentials = map[string][]byte{"clouds.yaml": fmt.Appendf(nil, "clouds: {a: {"+auth+"}, b: {"+auth+"}}", url, "demo", url, "other")}
	for cloud, want := range map[string]string{"a": demo, "b": other} {
		class.Spec = merged(t, openshiftSpec, `{"cloudName":"`+cloud+`"}`)
		if got, err := b.account(class); err != nil || got != want {
			t.Errorf("cloud %s is account %q, error %v", cloud, got, err)
		}
	}
	class.Spec = nil
	class.Credentials = map[string][]byte{"clouds.yaml": fmt.Appendf(nil, "clouds: {mine: {"+auth+"}}", url, "demo")}
	if got, err := b.account(class); err != nil || got != demo {
		t.Errorf("without a spec: %q, %v", got, err)
	}
}

// TestRegion: an unknown region is reported as such, not as a network failure.
func TestRegion(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.Inventory.Regions = []string{"RegionTwo"} })
	class := b.class(provider.Gardener, "c1")
	for region, ok := range map[string]bool{"RegionOne": true, "RegionTwo": true, "Mars": false} {
		class.Spec = merged(t, gardenerSpec, `{"spec":{"region":"`+region+`"}}`)
		_, err := b.account(class)
		if ok != (err == nil) || err != nil && (provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), region)) {
			t.Errorf("%s: %v", region, err)
		}
		if err != nil && !strings.Contains(err.Error(), `"RegionOne", "RegionTwo"`) {
			t.Errorf("%s: it is not told which regions there are: %v", region, err)
		}
	}
}

// TestNoRegion: an endpoint that Keystone lists without a region serves every region. So does each endpoint
// of a simulator that accepts everything, which accepts every user as well, until its configuration
// changes.
func TestNoRegion(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.AcceptAny = true })
	class := b.class(provider.Gardener, "c1")
	class.Spec = merged(t, gardenerSpec, `{"spec":{"region":"Mars"}}`)
	mine, err := b.account(class)
	if err != nil {
		t.Fatal(err)
	}
	class.Credentials = maps.Clone(class.Credentials)
	class.Credentials["username"], class.Credentials["password"], class.Credentials["tenantName"] = []byte("somebody"), []byte("unknown"), []byte("elsewhere")
	other, err := b.account(class)
	if err != nil || other == mine {
		t.Errorf("a stranger's account is %s, %v", other, err)
	}
	nova.Administered{Cloud: b.cloud}.Revoke()
	class.Credentials["password"] = []byte("another") // so that it logs in again
	if _, err := b.account(class); provider.KindOf(err) != provider.Denied {
		t.Errorf("after all were locked out: %v", err)
	}
}

// TestCertificates: the certificates of a cloud's own authority come from the secret, or else from the
// cluster's configuration.
func TestCertificates(t *testing.T) {
	b := newBench(t)
	secure := httptest.NewTLSServer(b.server)
	t.Cleanup(secure.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	b.http = secure
	plain := b.class(provider.OpenShift, "c1")
	if _, err := b.account(plain); provider.KindOf(err) != provider.Transient {
		t.Errorf("an authority that nobody knows: %v", err)
	}
	with := b.class(provider.OpenShift, "c1")
	with.Credentials["cacert"] = ca
	if got, err := b.account(with); err != nil || got != demo {
		t.Errorf("from the secret: %q, %v", got, err)
	}
	gardener := b.class(provider.Gardener, "c1")
	gardener.Credentials["caCert"] = ca
	if got, err := b.account(gardener); err != nil || got != demo {
		t.Errorf("from the other secret: %q, %v", got, err)
	}
	delete(gardener.Credentials, "caCert")
	gardener.Credentials["insecure"] = []byte("true")
	if got, err := b.account(gardener); err != nil || got != demo {
		t.Errorf("unchecked: %q, %v", got, err)
	}
	before := b.session(plain).Traits().Source
	b.objects[provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "openshift-config", Name: "cloud-provider-config"}] = string(jsonOf(t, map[string]any{"data": map[string]string{"ca-bundle.pem": string(ca)}}))
	if got, err := b.account(plain); err != nil || got != demo {
		t.Errorf("from the cluster: %q, %v", got, err)
	}
	if b.session(plain).Traits().Source == before {
		t.Error("the session does not say that its certificates have changed")
	}
	with.Credentials["cacert"] = []byte("no certificate")
	if _, err := b.account(with); provider.KindOf(err) != provider.Denied {
		t.Errorf("what is no certificate: %v", err)
	}
}

// TestLinksOfAProxy: services behind a proxy that ends TLS write http into the links to next pages. The
// token is still sent by https.
func TestLinksOfAProxy(t *testing.T) {
	b := newBench(t, func(o *nova.Options) { o.PlainLinks = true })
	secure := httptest.NewTLSServer(b.server)
	t.Cleanup(secure.Close)
	b.http = secure
	class := b.class(provider.OpenShift, "c1")
	class.Credentials["cacert"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for range 2*pageSize + 1 {
		if err := b.plant(class, provider.Instance{Name: "m"}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range b.session(class).List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2*pageSize+1 {
		t.Errorf("%d servers are listed", n)
	}
}

// TestGroupsOfOtherProjects: groups that an administrator sees, or that are shared, do not conflict with
// the project's own group of the same name.
func TestGroupsOfOtherProjects(t *testing.T) {
	const theirs = "5e0a2b9c-7d41-4a3e-8f65-1c2d3e4f5a6b"
	for _, r := range []struct{ set, has string }{
		{`{"securityGroups":[{"name":"default"}]}`, `"security_groups":["83022f8a-7a41-46e1-9089-80c393ee5cf2"]`},
		{`{"securityGroups":[{"name":"shared"}]}`, `"security_groups":["` + theirs + `"]`},
	} {
		b := newBench(t, func(o *nova.Options) {
			o.Inventory.SecurityGroups = append(o.Inventory.SecurityGroups,
				nova.SecurityGroup{ID: "0f1e2d3c-4b5a-4697-8877-665544332211", Name: "default", Project: "other"}, nova.SecurityGroup{ID: theirs, Name: "shared", Project: "other"})
		})
		class := b.class(provider.OpenShift, "c1")
		class.Spec = merged(t, string(class.Spec), r.set)
		b.running(b.session(class), ref("m"))
		if sent := b.sent.With(ports); len(sent) != 1 || !strings.Contains(sent[0], r.has) {
			t.Errorf("%s: %v", r.set, sent)
		}
	}
}

// TestReader: a user with read access gets a denial for a creation, and sees existing servers.
func TestReader(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "c1")
	b.running(b.session(class), ref("m"))
	class.Credentials = map[string][]byte{"clouds.yaml": []byte(strings.Replace(string(class.Credentials["clouds.yaml"]), "username: machines", "username: reader", 1))}
	s := b.session(class)
	if found, err := s.Find(t.Context(), ref("m")); err != nil || len(found) != 1 {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := s.Create(t.Context(), ref("n"), provider.Want{UserData: boot}); err != nil {
		// The server of m has its UID: nothing is created.
		t.Error(err)
	}
	n := ref("n")
	n.UID = "1b2f6d3e-6b1c-4c56-9f1b-7f0b3c2a1d4e"
	if _, err := s.Create(t.Context(), n, provider.Want{UserData: boot}); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "disallowed by policy") {
		t.Errorf("create: %v", err)
	}
	if _, err := s.Delete(t.Context(), ref("m"), nil); provider.KindOf(err) != provider.Denied {
		t.Errorf("delete: %v", err)
	}
}

// TestTokenRunsOut: one new token is requested, and the call continues.
func TestTokenRunsOut(t *testing.T) {
	b := newBench(t)
	s := b.session(b.class(provider.OpenShift, "c1"))
	b.running(s, ref("m"))
	b.clock.Advance(3 * 3600e9)
	if found, err := s.Find(t.Context(), ref("m")); err != nil || len(found) != 1 {
		t.Errorf("found %v, error %v", found, err)
	}
	if n := b.server.Counts()["keystone.POST.auth.tokens"]; n != 2 {
		t.Errorf("%d tokens were asked for", n)
	}
}

// TestKeystoneFails: a failure is no denial, since the credentials may be right.
func TestKeystoneFails(t *testing.T) {
	b := newBench(t)
	b.server.Inject(double.Fault{Failure: double.Failure{Kind: "Transient"}, Operation: "keystone.*", Times: 1})
	_, err := b.account(b.class(provider.OpenShift, "c1"))
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Kind != provider.Transient {
		t.Error(err)
	}
}
