package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/plugin/live"
)

func idle() *Server {
	return &Server{options: Options{Cluster: "blue", Options: live.Options{Clock: clock.RealClock{}}}, code: "secret", objects: newObjects(), fleet: &live.Fleet{}}
}

func asked(s *Server, method, path, host string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Host = host
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// TestOnlyTheUserGetsIn: data needs the code of the printed address, in a header that a page of another site cannot set.
func TestOnlyTheUserGetsIn(t *testing.T) {
	s := idle()
	for _, path := range []string{"/api/about", "/api/fleet", "/api/object?kind=machine&name=a"} {
		for _, code := range []string{"", "guess", "secre"} {
			got := asked(s, "GET", path, "127.0.0.1:8600", func(r *http.Request) { r.Header.Set(codeHeader, code) })
			if got.Code != http.StatusUnauthorized || len(got.Result().Cookies()) != 0 {
				t.Errorf("%s with the code %q: %d, want 401", path, code, got.Code)
			}
		}
	}
	if got := asked(s, "GET", "/api/about?code=secret", "127.0.0.1:8600", nil); got.Code != http.StatusUnauthorized {
		t.Errorf("with the code in the address: %d, want 401", got.Code)
	}
	if got := asked(s, "GET", "/api/about", "127.0.0.1:8600", func(r *http.Request) { r.Header.Set(codeHeader, "secret") }); got.Code != http.StatusOK {
		t.Errorf("with the code: %d, want 200", got.Code)
	}
}

// TestOtherSitesAreRefused: a name that leads to this machine, and requests that a page of another site sends.
func TestOtherSitesAreRefused(t *testing.T) {
	s := idle()
	for _, c := range []struct {
		host, site string
		want       int
	}{
		{"127.0.0.1:8600", "", 200},
		{"127.0.0.1:8600", "same-origin", 200},
		{"127.0.0.1:8600", "none", 200},
		{"localhost:8600", "", 200},
		{"[::1]:8600", "", 200},
		{"evil.example:8600", "", 403},
		{"127.0.0.1.evil.example:8600", "", 403},
		{"192.0.2.1:8600", "", 403},
		{"", "", 403},
		{"127.0.0.1:8600", "cross-site", 403},
		{"127.0.0.1:8600", "same-site", 403},
	} {
		w := asked(s, "GET", "/", c.host, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", c.site) })
		if w.Code != c.want {
			t.Errorf("host %q, site %q: %d, want %d", c.host, c.site, w.Code, c.want)
		}
		if w.Code == http.StatusOK && w.Header().Get("Content-Security-Policy") == "" {
			t.Error("the page has no content security policy")
		}
	}
}

// TestRequestsWithABody: only the page itself sends them, as JSON, with the code, and none is large.
func TestRequestsWithABody(t *testing.T) {
	s := idle()
	for _, c := range []struct {
		reason string
		edit   func(*http.Request)
		body   string
		want   int
	}{
		{"the page", func(*http.Request) {}, `{}`, 422},
		{"an old browser", func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }, `{}`, 422},
		{"without the code", func(r *http.Request) { r.Header.Del(codeHeader) }, `{}`, 401},
		{"another site", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, `{}`, 403},
		{"another port of this machine", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:8601") }, `{}`, 403},
		{"no origin", func(r *http.Request) { r.Header.Del("Origin") }, `{}`, 403},
		{"a sandboxed frame", func(r *http.Request) { r.Header.Set("Origin", "null") }, `{}`, 403},
		{"typed into the address bar", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, `{}`, 403},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, `{}`, 415},
		{"a form that looks like JSON", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, `{}`, 415},
		{"no type", func(r *http.Request) { r.Header.Del("Content-Type") }, `{}`, 415},
		{"no JSON", func(*http.Request) {}, `{`, 400},
		{"two objects", func(*http.Request) {}, `{}{}`, 400},
		{"an unknown field", func(*http.Request) {}, `{"run":true}`, 400},
		{"too large", func(*http.Request) {}, `{"manifest":"` + strings.Repeat("a", mostBody) + `"}`, 413},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := posted(s, "/api/plan", c.body, c.edit); got.Code != c.want {
				t.Errorf("%s: %d %s, want %d", c.reason, got.Code, got.Body, c.want)
			}
		})
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE"} {
		if got := asked(s, method, "/api/plan", "127.0.0.1:8600", func(r *http.Request) { r.Header.Set(codeHeader, "secret") }); got.Code < 400 {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
}

// posted sends a request as the page does.
func posted(s *Server, path, body string, edit func(*http.Request)) *httptest.ResponseRecorder {
	return asked(s, "POST", path, "127.0.0.1:8600", func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(body))
		for key, value := range map[string]string{codeHeader: "secret", "Origin": "http://127.0.0.1:8600", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json; charset=utf-8"} {
			r.Header.Set(key, value)
		}
		edit(r)
	})
}
