package prometheus_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/runtime/prometheus"
)

const (
	none  = `{"status":"success","data":{"resultType":"vector","result":[]}}`
	fires = `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"ALERTS","alertname":"Down"},"value":[1764500000,"1"]}]}}`
)

func TestHasSamples(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		samples      bool
		fault        string
	}{
		{"an alert fires", fires, http.StatusOK, true, ""},
		{"a sample of 0 is a sample", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1764500000,"0"]}]}}`, http.StatusOK, true, ""},
		{"no alert fires", none, http.StatusOK, false, ""},
		{"a scalar", `{"status":"success","data":{"resultType":"scalar","result":[1764500000,"0"]}}`, http.StatusOK, false, "returns a scalar"},
		{"a range", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, http.StatusOK, false, "returns a matrix"},
		{"an empty answer of which a part is missing", `{"status":"success","warnings":["store b does not answer"],"data":{"resultType":"vector","result":[]}}`, http.StatusOK, false, "partial: store b does not answer"},
		{"an invalid query", `{"status":"error","errorType":"bad_data","error":"parse error at char 4"}`, http.StatusBadRequest, false, "parse error at char 4"},
		{"denied", "forbidden", http.StatusForbidden, false, "403"},
		{"not Prometheus", "<html>", http.StatusOK, false, "evaluate the Prometheus query"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prom/api/v1/query" || r.FormValue("query") != "ALERTS" {
					t.Errorf("asked for %s with %q", r.URL.Path, r.FormValue("query"))
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer s.Close()
			client, err := prometheus.Flags{URL: s.URL + "/prom/"}.Client()
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.HasSamples(t.Context(), "ALERTS")
			if got != c.samples || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestToken: the token goes only to a server whose certificate is trusted, and a changed file is read again.
func TestToken(t *testing.T) {
	var had []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		had = append(had, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, none)
	}))
	defer s.Close()
	dir := t.TempDir()
	ca, token := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "token")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	write(t, token, "first\n")
	strange, err := prometheus.Flags{URL: s.URL, TokenFile: token}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strange.HasSamples(t.Context(), "up"); err == nil || len(had) > 0 {
		t.Errorf("a server with an unknown certificate: %v, and it has %q", err, had)
	}
	known, err := prometheus.Flags{URL: s.URL, TokenFile: token, CAFile: ca}.Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := known.HasSamples(t.Context(), "up"); err != nil || len(had) != 1 || had[0] != "Bearer first" {
		t.Errorf("%v, and the server has %q", err, had)
	}
}

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	write(t, empty, "")
	for _, c := range []struct {
		flags prometheus.Flags
		fault string
	}{
		{prometheus.Flags{URL: "prometheus:9090"}, "--prometheus-url"},
		{prometheus.Flags{URL: "ftp://prometheus"}, "--prometheus-url"},
		{prometheus.Flags{CAFile: empty}, "need --prometheus-url"},
		{prometheus.Flags{URL: "http://prometheus", TokenFile: empty}, "only to an https server"},
		{prometheus.Flags{URL: "https://prometheus", CAFile: filepath.Join(dir, "absent")}, "--prometheus-ca-file"},
		{prometheus.Flags{URL: "https://prometheus", CAFile: empty}, "has no certificate"},
		{prometheus.Flags{URL: "https://prometheus", TokenFile: empty}, "--prometheus-token-file"},
	} {
		if _, err := c.flags.Client(); err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v, want %q", c.flags, err, c.fault)
		}
	}
	client, err := prometheus.Flags{}.Client()
	if err != nil || client != nil {
		t.Fatalf("without flags: %v, %v", client, err)
	}
	if _, err := client.HasSamples(context.Background(), "up"); !errors.Is(err, prometheus.ErrNoServer) {
		t.Errorf("without a server: %v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
