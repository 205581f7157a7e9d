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

// probes answer kubelets and people, from the first second of a process on.
type probes struct {
	mu sync.Mutex
	// waits is why nothing is served yet; empty: something is.
	waits  string
	checks []check
}

// check is one of what a process needs to be ready.
type check struct {
	name string
	// state says how it is; the error why that is not ready. It does not wait.
	state func(*http.Request) (string, error)
}

// lacks notes why nothing is served yet; empty: something is.
func (p *probes) lacks(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = why
}

func (p *probes) add(c check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checks = append(p.checks, c)
}

// ready answers /readyz with a line for each check, as API servers do: "[+]" what is
// ready, "[-]" what is not, and with 503 where something is not.
func (p *probes) ready(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	checks, waits := p.checks, p.waits
	p.mu.Unlock()
	var lines strings.Builder
	code := http.StatusOK
	tell := func(name, state string, err error) {
		if err != nil {
			code, state = http.StatusServiceUnavailable, err.Error()
			fmt.Fprintf(&lines, "[-]%s: %s\n", name, state)
			return
		}
		fmt.Fprintf(&lines, "[+]%s: %s\n", name, state)
	}
	if waits != "" {
		tell("api", "", errors.New(waits))
	}
	for _, c := range checks {
		state, err := c.state(r)
		tell(c.name, state, err)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(lines.String()))
}

// alive answers /healthz: this process runs.
func alive(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("OK")) }

func (p *probes) handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/healthz": http.HandlerFunc(alive), "/livez": http.HandlerFunc(alive), "/readyz": http.HandlerFunc(p.ready),
	}
}

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
