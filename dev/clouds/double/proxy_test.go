package double_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

func TestProxyStandsForEveryHost(t *testing.T) {
	authority, err := double.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	proxy := double.NewProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+r.URL.Path)
	}), authority)
	defer func() { _ = proxy.Close() }()
	server := httptest.NewServer(proxy)
	defer server.Close()

	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority.PEM())
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}}
	for address, want := range map[string]string{
		"https://ec2.eu-west-1.amazonaws.com/a": "ec2.eu-west-1.amazonaws.com/a",
		"https://192.0.2.3:5000/v3":             "192.0.2.3:5000/v3",
		"http://vcenter.example.com/sdk":        "vcenter.example.com/sdk",
		server.URL + "/direct":                  at.Host + "/direct",
	} {
		answer, err := client.Get(address) //nolint:noctx // It is on this machine.
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != want {
			t.Errorf("%s: %q, %v; want %q", address, body, err, want)
		}
		_ = answer.Body.Close()
	}
}
