package cloud

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/provider"
)

// federated is Gardener's configuration for a workload identity, by its documentation.
const federated = `{"type": "external_account", "universe_domain": "googleapis.com",
	"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
	"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": "https://sts.googleapis.com/v1/token",
	"service_account_impersonation_url": "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@p.iam.gserviceaccount.com:generateAccessToken",
	"credential_source": {"file": "/var/run/secrets/gardener.cloud/workload-identity/token", "format": {"type": "text"}}}`

// TestExternalAccountIsConfined: a secret can use neither the pod's own token nor send a token to another
// host than Google's.
func TestExternalAccountIsConfined(t *testing.T) {
	b := newBench(t)
	file, tokens, impersonation := "/var/run/secrets/gardener.cloud/workload-identity/token", `"https://sts.googleapis.com/v1/token"`, `"https://iamcredentials.googleapis.com/`
	for _, r := range []struct{ was, is, field string }{
		{"", "", ""},
		{file, "/var/run/secrets/openshift/serviceaccount/token", ""},
		{file, "/var/run/secrets/kubernetes.iox/token", ""},
		{file, "/var/run/secrets/kubernetes.io/serviceaccount/token", "credential_source.file"},
		{file, "/run/secrets/kubernetes.io/serviceaccount/token", "credential_source.file"},
		{file, "/var/run/secrets/x/..//kubernetes.io/serviceaccount/token", "credential_source.file"},
		{file, strings.Repeat("../", 40) + "var/run/secrets/kubernetes.io/serviceaccount/token", "credential_source.file"},
		{tokens, `""`, ""},
		{tokens, `"https://STS.googleapis.com/v1/token"`, ""},
		{tokens, `"http://sts.googleapis.com/v1/token"`, "token_url"},
		{tokens, `"https://sts.googleapis.com.example/v1/token"`, "token_url"},
		{tokens, `"https://sts.googleapis.com@example/v1/token"`, "token_url"},
		{tokens, `"https://sts.googleapis.com:444/v1/token"`, "token_url"},
		{tokens, `"https://iamcredentials.googleapis.com/v1/token"`, "token_url"},
		{tokens, `":"`, "token_url"},
		{impersonation, `"https://example/`, "service_account_impersonation_url"},
		{impersonation, `"http://iamcredentials.googleapis.com/`, "service_account_impersonation_url"},
		{`"universe_domain": "googleapis.com"`, `"universe_domain": "example"`, "universe_domain"},
		{`"universe_domain": "googleapis.com",`, "", ""},
	} {
		class := b.class(provider.Gardener, "prod")
		class.Credentials = map[string][]byte{"credentialsConfig": []byte(strings.Replace(federated, r.was, r.is, 1)), "projectID": []byte("rehearsal")}
		_, err := New(Config{Clock: b.clock}).Open(t.Context(), class)
		if r.field == "" && err != nil {
			t.Errorf("%s: %v", r.is, err)
		}
		if r.field != "" && (provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), r.field)) {
			t.Errorf("%s: it says %v, and not what is wrong with %s", r.is, err, r.field)
		}
	}
}

// TestExternalAccountOfTheCluster: if the cluster has endpoint overrides, those in the secret are ignored,
// and are no error.
func TestExternalAccountOfTheCluster(t *testing.T) {
	b := newBench(t)
	class := b.class(provider.OpenShift, "prod")
	class.Credentials = map[string][]byte{"service_account.json": []byte(strings.ReplaceAll(federated, "googleapis.com", "apis.example"))}
	b.objects["Infrastructure cluster"] = `{"status": {"platformStatus": {"gcp": {"serviceEndpoints": [
		{"name": "Compute", "url": "https://compute.example"}, {"name": "CloudResourceManager", "url": "https://manager.example"},
		{"name": "STS", "url": "https://sts.example"}, {"name": "IAMCredentials", "url": "https://credentials.example"}]}}}}`
	p := New(Config{Clock: b.clock, Objects: b.objects})
	if _, err := p.Open(t.Context(), class); err != nil {
		t.Error(err)
	}
	b.objects["Infrastructure cluster"] = strings.Replace(b.objects["Infrastructure cluster"], `"STS"`, `"Storage"`, 1)
	if _, err := p.Open(t.Context(), class); provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), "universe_domain") {
		t.Errorf("without the place of one API: %v", err)
	}
}

// TestLinksLeadBelow: a file is checked after its links are resolved.
func TestLinksLeadBelow(t *testing.T) {
	own, other := filepath.Join(t.TempDir(), "own"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(own, "account"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "account", "token"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": own, "deep": filepath.Join(own, "account")} {
		if err := os.Symlink(to, filepath.Join(other, name)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]bool{
		own + "/account/token":                     true,
		other + "/link/account/token":              true,
		other + "/deep/../account/token":           true,
		"/proc/self/root" + own + "/account/token": true,
		own + "-2/token":                           false,
		other + "/token":                           false,
	} {
		if isBelow(file, own) != want {
			t.Errorf("%s is below: %t", file, !want)
		}
	}
	if !isBelow(own+"/account/token", filepath.Join(other, "link")) {
		t.Error("a directory that is called by a link has nothing in it")
	}
}
