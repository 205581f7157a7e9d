package run

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestReady: M3, O1. A process answers from the first second on, and tells what it waits for
// and who leads.
func TestReady(t *testing.T) {
	is := func(name, state string, err error) check {
		return check{name, func(*http.Request) (string, error) { return state, err }}
	}
	for name, c := range map[string]struct {
		reason string
		waits  string
		checks []check
		code   int
		body   string
	}{
		"starts":      {"nothing is served yet", "the process starts", nil, 503, "[-]api: the process starts\n"},
		"caches fill": {"what is decided then would be wrong", "", []check{is("caches", "", errors.New("not filled yet"))}, 503, "[-]caches: not filled yet\n"},
		"stands by":   {"whoever stands by is ready to lead", "", []check{is("caches", "filled", nil), is("lease a/b", "standing by, it is held by other", nil)}, 200, "[+]caches: filled\n[+]lease a/b: standing by, it is held by other\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var p probes
			p.lacks(c.waits)
			for _, one := range c.checks {
				p.add(one)
			}
			for path, want := range map[string]int{"/readyz": c.code, "/healthz": 200, "/livez": 200} {
				w := httptest.NewRecorder()
				p.handlers()[path].ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != want || path == "/readyz" && w.Body.String() != c.body {
					t.Errorf("%s: %s answers %d %q", c.reason, path, w.Code, w.Body.String())
				}
			}
		})
	}
}
