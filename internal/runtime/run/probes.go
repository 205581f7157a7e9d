package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// probes answers the kubelet's and users' probes, from the start of the process.
type probes struct {
	mu sync.Mutex
	// waits is why no API is served yet; empty: one is.
	waits string
	// needs are the checks of readiness, moves those of liveness.
	needs, moves []check
}

// check is one check of a process.
type check struct {
	name string
	// state returns the state, or an error if the check fails. It does not wait.
	state func(*http.Request) (string, error)
}

// lacks records why no API is served yet; empty: one is.
func (p *probes) lacks(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = why
}

// need adds a check of readiness.
func (p *probes) need(c check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.needs = append(p.needs, c)
}

// moving adds a check of liveness.
func (p *probes) moving(c check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves = append(p.moves, c)
}

// ready answers /readyz.
func (p *probes) ready(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	checks, waits := p.needs, p.waits
	p.mu.Unlock()
	if waits != "" {
		checks = append([]check{{"api", func(*http.Request) (string, error) { return "", errors.New(waits) }}}, checks...)
	}
	tell(w, r, checks)
}

// live answers /livez: a blocked process has to be restarted. A process that waits, or cannot reach a server,
// does not.
func (p *probes) live(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	checks := p.moves
	p.mu.Unlock()
	if len(checks) == 0 {
		alive(w, r)
		return
	}
	tell(w, r, checks)
}

// tell answers with a line for each check, like API servers: "[+]" for a passed one, "[-]" for a failed one,
// and with 503 if one has failed.
func tell(w http.ResponseWriter, r *http.Request, checks []check) {
	var lines strings.Builder
	code := http.StatusOK
	for _, c := range checks {
		mark := "[+]"
		state, err := c.state(r)
		if err != nil {
			mark, code, state = "[-]", http.StatusServiceUnavailable, err.Error()
		}
		fmt.Fprintf(&lines, "%s%s: %s\n", mark, c.name, state)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(lines.String()))
}

// alive answers /healthz: this process runs.
func alive(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }

func (p *probes) handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/healthz": http.HandlerFunc(alive), "/livez": http.HandlerFunc(p.live), "/readyz": http.HandlerFunc(p.ready),
	}
}

// isHealth reports whether a path is one of the handlers'.
func isHealth(path string) bool { return path == "/healthz" || path == "/livez" || path == "/readyz" }

// serve answers at address until ctx ends.
func (p *probes) serve(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--health-addr: %w", err)
	}
	mux := http.NewServeMux()
	for path, h := range p.handlers() {
		mux.Handle(path, h)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer probes: %w", err)
	}
	return nil
}
