package ui

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSiteOfNames: a page that is served under names takes requests of these names and origins over HTTPS, and no others.
func TestSiteOfNames(t *testing.T) {
	s := idle()
	s.options.Site = Site{Hosts: []string{"fleet.example.com", "machine-ui.millwright-system.svc"}}
	pages := s.options.Site.Pages(s.Data())
	for _, c := range []struct {
		reason, host, origin string
		want                 int
	}{
		{"the page", "fleet.example.com", "https://fleet.example.com", 400},
		{"the page on a port", "fleet.example.com:8443", "https://fleet.example.com:8443", 400},
		{"in capitals", "Fleet.Example.COM", "https://Fleet.Example.COM", 400},
		{"a proxy that replaces the host", "machine-ui.millwright-system.svc", "https://fleet.example.com", 400},
		{"another host", "evil.example.com", "https://fleet.example.com", 403},
		{"a host below", "evil.fleet.example.com", "https://evil.fleet.example.com", 403},
		{"the loopback interface", "localhost:8443", "https://localhost:8443", 403},
		{"no host", "", "https://fleet.example.com", 403},
		{"plain HTTP", "fleet.example.com", "http://fleet.example.com", 403},
		{"another port", "fleet.example.com", "https://fleet.example.com:8444", 403},
		{"another origin", "fleet.example.com", "https://evil.example.com", 403},
		{"an origin that begins alike", "fleet.example.com", "https://fleet.example.com.evil.example.com", 403},
		{"no origin", "fleet.example.com", "", 403},
		{"a frame without an origin", "fleet.example.com", "null", 403},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/plan", http.NoBody)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if w.Code != c.want { // 400: the request was let in, and has no body
			t.Errorf("%s: %d %s, want %d", c.reason, w.Code, w.Body, c.want)
		}
	}
}
