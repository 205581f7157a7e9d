// Package uiserver is the program machine-ui: it serves the page of `kubectl machine ui` in a cluster, to many users. It
// has no rights of its own. Each request carries the bearer token of its user, and everything that the user sees or
// changes is read and written with this token.
package uiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

const (
	// graceTime is how long running actions may take after the process was asked to stop.
	graceTime = 10 * time.Second
	// mostHeader is the size of the largest header of a request, in bytes.
	mostHeader = 64 << 10
	// mostToken is the length of the longest token, in bytes.
	mostToken = 16 << 10
	// namespaceHeader chooses the namespace to show; allNamespaces are all of them.
	namespaceHeader = "Millwright-Namespace"
	allNamespaces   = "*"
)

// Options say whom the server serves, and which cluster it shows.
type Options struct {
	// Options of the page of each user. Control has the address and the certificate authority of the API server, and no
	// credentials.
	ui.Options
	// MaxSessions is how many users may use the page at a time.
	MaxSessions int
	// CheckInterval is the time between two checks of a token.
	CheckInterval time.Duration
}

// Server serves the page to many users.
type Server struct {
	options  Options
	sessions *sessions
	// stopping ends streams before the server waits for running actions.
	stopping context.Context
	stop     context.CancelFunc
	unready  atomic.Bool
}

// New returns a server. Sessions end with ctx, or after Serve.
func New(ctx context.Context, o Options) *Server {
	s := &Server{options: o, sessions: newSessions(context.WithoutCancel(ctx), o)}
	s.stopping, s.stop = context.WithCancel(ctx)
	return s
}

// Serve serves the page over TLS until ctx ends. Then it ends the streams, and waits for running actions.
func (s *Server) Serve(ctx context.Context, l net.Listener, settings *tls.Config) error {
	defer s.sessions.close()
	server := &http.Server{
		Handler: s.Handler(), TLSConfig: settings, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, // with the rules for provider specs
	}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		s.unready.Store(true)
		s.stop()
		grace, end := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
		defer end()
		done <- server.Shutdown(grace)
	}()
	if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	if err := <-done; err != nil {
		return fmt.Errorf("wait for running actions: %w", err)
	}
	return nil
}

// Handler serves the page, its data, and the probes of the kubelet, which name the pod's address as the host.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.Handle("/", s.options.Site.Pages(http.HandlerFunc(s.data)))
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	m.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.unready.Load() {
			http.Error(w, "the process is stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return m
}

// data serves the data of the user whose token the request has.
func (s *Server) data(w http.ResponseWriter, r *http.Request) {
	one, leave, err := s.enter(r)
	if err != nil {
		refuse(w, err)
		return
	}
	defer leave()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(one.ctx, end)()
	if r.Method == http.MethodGet {
		defer context.AfterFunc(s.stopping, end)()
	}
	one.data.ServeHTTP(w, r.WithContext(ctx))
}

// enter returns the session of the request's user.
func (s *Server) enter(r *http.Request) (*session, func(), error) {
	token, err := tokenOf(r)
	if err != nil {
		return nil, nil, err
	}
	namespace, err := s.namespaceOf(r)
	if err != nil {
		return nil, nil, err
	}
	return s.sessions.enter(r.Context(), token, namespace)
}

// namespaceOf is the namespace that the user has chosen; empty: all.
func (s *Server) namespaceOf(r *http.Request) (string, error) {
	chosen := r.Header.Get(namespaceHeader)
	switch {
	case chosen == "":
		return s.options.Namespace, nil
	case chosen == allNamespaces:
		return "", nil
	case len(validation.IsDNS1123Label(chosen)) > 0:
		return "", refusal{http.StatusBadRequest, fmt.Sprintf("namespace: %q is not a valid name", chosen)}
	}
	return chosen, nil
}

// tokenOf is the bearer token of a request.
func tokenOf(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	switch {
	case !strings.EqualFold(scheme, "bearer") || token == "":
		return "", refusal{http.StatusUnauthorized, "not signed in: the request has no bearer token"}
	case len(token) > mostToken:
		return "", refusal{http.StatusUnauthorized, fmt.Sprintf("the token is longer than %d bytes", mostToken)}
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return "", refusal{http.StatusUnauthorized, "the token has characters that no token has"}
	}
	return token, nil
}

// refusal is an answer to a client that does not get what it has asked for.
type refusal struct {
	status int
	text   string
}

// Error implements the error interface.
func (r refusal) Error() string { return r.text }

// refuse answers a request that was refused, with the headers of its status.
func refuse(w http.ResponseWriter, err error) {
	var r refusal
	if !errors.As(err, &r) {
		r = refusal{http.StatusServiceUnavailable, err.Error()}
	}
	switch r.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="millwright"`)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "30")
	}
	http.Error(w, r.text, r.status)
}
