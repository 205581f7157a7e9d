package cloud_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
	"github.com/millwright-dev/millwright/provider"
)

func TestEveryWayToNameCredentials(t *testing.T) {
	keys := ec2.Sample().Credentials[0]
	id, secret := []byte(keys.AccessKeyID), []byte(keys.SecretAccessKey)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token-of-the-workload"), 0o600); err != nil {
		t.Fatal(err)
	}
	role := "arn:aws:iam::123456789012:role/machines"
	for name, c := range map[string]struct {
		secret map[string][]byte
		kind   provider.Kind
		says   string
	}{
		"keys of the one original":   {secret: map[string][]byte{"aws_access_key_id": id, "aws_secret_access_key": append(secret, '\n')}},
		"keys of the other":          {secret: map[string][]byte{"accessKeyID": id, "secretAccessKey": secret, "userData": []byte("x")}},
		"former keys of the other":   {secret: map[string][]byte{"providerAccessKeyId": id, "providerSecretAccessKey": secret}},
		"a file of credentials":      {secret: map[string][]byte{"credentials": fmt.Appendf(nil, "# ours\n[default]\naws_access_key_id = %s\naws_secret_access_key=%s\n[other]\naws_access_key_id = x\n", id, secret)}},
		"a role by a file":           {secret: map[string][]byte{"credentials": fmt.Appendf(nil, "[default]\nsts_regional_endpoints = regional\nrole_arn = %s\nweb_identity_token_file = %s\n", role, token)}},
		"a workload's identity":      {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token), "roleARN": []byte(role)}},
		"a role that trusts nobody":  {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token), "roleARN": []byte(role + "x")}, kind: provider.Denied, says: "role"},
		"a token without a role":     {secret: map[string][]byte{"workloadIdentityTokenFile": []byte(token)}, kind: provider.Denied, says: "roleARN"},
		"half a pair":                {secret: map[string][]byte{"accessKeyID": id}, kind: provider.Denied, says: "secretAccessKey"},
		"a misspelt key":             {secret: map[string][]byte{"acessKeyID": id, "secretAccesKey": secret}, kind: provider.Denied, says: "no credentials of AWS"},
		"a program":                  {secret: map[string][]byte{"credentials": []byte("[default]\ncredential_process = /bin/sh\n")}, kind: provider.Denied, says: "credential_process"},
		"a file without the profile": {secret: map[string][]byte{"credentials": []byte("[other]\naws_access_key_id = x\n")}, kind: provider.Denied, says: "default"},
		"wrong keys":                 {secret: map[string][]byte{"accessKeyID": id, "secretAccessKey": []byte("wrong")}, kind: provider.Denied, says: "SignatureDoesNotMatch"},
		"unknown keys":               {secret: map[string][]byte{"accessKeyID": []byte("AKIAX"), "secretAccessKey": secret}, kind: provider.Denied, says: "InvalidClientTokenId"},
	} {
		t.Run(name, func(t *testing.T) {
			class := classOf(provider.OpenShift, "c1")
			class.Credentials = c.secret
			account, err := sample(t).open(t, class).Account(t.Context())
			if provider.KindOf(err) != c.kind || c.kind == "" && account != "123456789012" {
				t.Errorf("account %q, error %v of kind %q", account, err, provider.KindOf(err))
			}
			if c.says != "" && !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

func TestEndpointsOfTheClusterAndItsCertificates(t *testing.T) {
	w := sample(t)
	secure := httptest.NewTLSServer(w.server)
	defer secure.Close()
	i := w.objects["Infrastructure/cluster"].(*configv1.Infrastructure)
	for _, name := range []string{"ec2", "sts", "elasticloadbalancing"} {
		i.Status.PlatformStatus.AWS.ServiceEndpoints = append(i.Status.PlatformStatus.AWS.ServiceEndpoints, configv1.AWSServiceEndpoint{Name: name, URL: secure.URL})
	}
	w.url = ""
	class := classOf(provider.OpenShift, "c1")
	before := w.open(t, class)
	if _, err := before.Find(t.Context(), refOf("m")); provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its certificate: %v", err)
	}
	w.objects["ConfigMap/kube-cloud-config"] = &corev1.ConfigMap{Data: map[string]string{"ca-bundle.pem": pemOf(secure)}}
	after := w.open(t, class)
	if _, err := after.Find(t.Context(), refOf("m")); err != nil {
		t.Errorf("with its certificate: %v", err)
	}
	if before.Traits().Source == after.Traits().Source {
		t.Error("a new bundle is no new source")
	}
}

func TestAPageOfHTMLIsNoAnswer(t *testing.T) {
	w := sample(t)
	s := w.open(t, classOf(provider.OpenShift, "c1"))
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}})
	_, err := s.Find(t.Context(), refOf("m"))
	if provider.KindOf(err) != provider.Transient || !strings.Contains(err.Error(), "is not AWS's") {
		t.Errorf("a page of a proxy: %v", err)
	}
}

func pemOf(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
