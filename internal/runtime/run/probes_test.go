package run

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
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
				p.need(one)
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

// TestLive: a process is started anew when it does not move any more, and not because others do not answer.
func TestLive(t *testing.T) {
	own := testingclock.NewFakeClock(time.Unix(1e9, 0))
	slow := make(chan struct{})
	answer := errors.New("unreachable")
	probe := func(ctx context.Context) (string, error) {
		select {
		case <-slow:
		default:
			<-slow
		}
		return "", answer
	}
	l := NewProber(map[connectivity.Cluster]Probe{connectivity.Control: probe}, connectivity.Policy{Timeout: 30 * time.Second, Interval: 6 * time.Second},
		serverclock.New(own, logr.Discard()), logr.Discard())
	var p probes
	get := func() (int, string) {
		w := httptest.NewRecorder()
		p.handlers()["/livez"].ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/livez", nil))
		return w.Code, w.Body.String()
	}
	expect := func(reason string, code int, body string) {
		t.Helper()
		if gotCode, got := get(); gotCode != code || got != body {
			t.Errorf("%s: %d %q, want %d %q", reason, gotCode, got, code, body)
		}
	}
	expect("before it serves anything", 200, "OK")
	p.moving(check{"looks at API servers", l.moves})
	expect("it has just begun", 200, "[+]looks at API servers: 0s ago\n")
	looked := make(chan error)
	go func() { looked <- l.Look(t.Context()) }()
	own.Step(time.Minute)
	expect("the look is slow", 200, "[+]looks at API servers: 1m0s ago\n")
	own.Step(time.Second)
	expect("nothing bounds a look any more", 503, "[-]looks at API servers: the last one was 1m1s ago, and there should be one every 6s\n")
	close(slow)
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	expect("that nobody answers is no standstill", 200, "[+]looks at API servers: 0s ago\n")
}
