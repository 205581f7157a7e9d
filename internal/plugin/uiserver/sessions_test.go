package uiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

// plane is sessions with a clock that the test moves, and an API server that answers all reviews of tokens with one status;
// 0: with its own answer.
type plane struct {
	*sessions
	time   *clocktesting.FakeClock
	status atomic.Int32
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	env := devplanetest.Start(t)
	anonymous := rest.AnonymousClientConfig(env.Config)
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(env.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	p := &plane{time: clocktesting.NewFakeClock(time.Now())}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := p.status.Load(); status != 0 && strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
			http.Error(w, "injected", int(status))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	p.sessions = newSessions(context.WithoutCancel(t.Context()), Options{
		MaxSessions: 5, CheckInterval: 2 * time.Minute,
		Options: ui.Options{Options: live.Options{Control: &rest.Config{Host: server.URL}, Clock: p.time}},
	})
	t.Cleanup(p.close)
	return p
}

// entered is a session of a new user, with one open request until leave is called.
func (p *plane) entered(t *testing.T) (one *session, leave func()) {
	t.Helper()
	namespace := devplanetest.Namespace(t)
	one, leave, err := p.enter(t.Context(), newUser(t, namespace, "ann", "get", "list", "watch").token, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return one, leave
}

// pass lets time pass in small steps, as long as the session lasts.
func (p *plane) pass(one *session, d time.Duration) {
	for end := p.time.Now().Add(d); p.time.Now().Before(end) && one.ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		p.time.Step(lookTime)
	}
}

func (p *plane) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// TestIdleSessionsEnd: a session ends a minute after its last request, and no sooner.
func TestIdleSessionsEnd(t *testing.T) {
	p := newPlane(t)
	one, leave := p.entered(t)
	p.pass(one, 10*idleTime)
	if one.ctx.Err() != nil {
		t.Fatalf("a session with an open request has ended: %v", context.Cause(one.ctx))
	}
	leave()
	p.pass(one, idleTime/2)
	if one.ctx.Err() != nil {
		t.Fatalf("the session has ended too soon: %v", context.Cause(one.ctx))
	}
	p.pass(one, 2*idleTime)
	if !errors.Is(context.Cause(one.ctx), errIdle) || p.count() != 0 {
		t.Errorf("the idle session continues, or ended because of %v; %d sessions exist", context.Cause(one.ctx), p.count())
	}
}

// TestUnansweredChecks: an API server that answers no check does not end a session at once, but after a while. A refusal does.
func TestUnansweredChecks(t *testing.T) {
	for _, c := range []struct {
		reason string
		status int
		lasts  time.Duration
		within time.Duration
		why    error
	}{
		{"the API server does not answer", http.StatusServiceUnavailable, 8 * time.Minute, 16 * time.Minute, errUnchecked},
		{"the API server has too many requests", http.StatusTooManyRequests, 8 * time.Minute, 16 * time.Minute, errUnchecked},
		{"the API server does not accept the token", http.StatusUnauthorized, 0, 3 * time.Minute, errInvalid},
	} {
		t.Run(c.reason, func(t *testing.T) {
			p := newPlane(t)
			one, leave := p.entered(t)
			defer leave()
			p.status.Store(int32(c.status))
			p.pass(one, c.lasts)
			if one.ctx.Err() != nil {
				t.Fatalf("the session has ended too soon: %v", context.Cause(one.ctx))
			}
			p.pass(one, c.within-c.lasts)
			if !errors.Is(context.Cause(one.ctx), c.why) {
				t.Errorf("the session ended because of %v, want %v", context.Cause(one.ctx), c.why)
			}
		})
	}
}

// TestChecksBeforeASession: no session begins before the API server has accepted the token.
func TestChecksBeforeASession(t *testing.T) {
	p := newPlane(t)
	token := newUser(t, devplanetest.Namespace(t), "ann").token
	for status, want := range map[int]int{
		http.StatusUnauthorized: http.StatusUnauthorized, http.StatusServiceUnavailable: http.StatusServiceUnavailable, http.StatusForbidden: http.StatusServiceUnavailable,
	} {
		p.status.Store(int32(status))
		_, _, err := p.enter(t.Context(), token, "")
		var r refusal
		if !errors.As(err, &r) || r.status != want || p.count() != 0 {
			t.Errorf("after %d: %v with %d sessions, want %d", status, err, p.count(), want)
		}
	}
}
