// Package ui is the web page of `kubectl machine ui`: the fleet, what is wrong with it, and the life of each
// machine. It is served on this machine with the rights of the user's kubeconfig. It only reads, and tries changes as dry
// runs, unless the user allows actions.
//
// The sources of the page are in web, and tools/ui bundles them into assets.
package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/internal/plugin/drains"
	"github.com/millwright-dev/millwright/internal/plugin/live"
)

// Options say what the page shows.
type Options struct {
	live.Options
	// Cluster is the cluster's name for users.
	Cluster string
	// Home is the namespace of objects in manifests that name none; empty: such objects are refused.
	Home string
	// ActionLog gets a line for each action; nil: the page offers no actions.
	ActionLog io.Writer
	// Site is where the page is served.
	Site Site
	// User is the name of the user who has signed in; empty: the page has no users of its own.
	User string
}

// Server serves the page.
type Server struct {
	options Options
	code    code
	fleet   *live.Fleet
	objects *objects
	drains  *drains.Manager
}

// New connects to the clusters, starts to watch them, and returns a server of the page.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{options: o, code: code(rand.Text()), objects: newObjects()}
	s.options.Changed = s.objects.notify
	s.drains = drains.New(ctx, o.Clock, s.objects.notify)
	var err error
	s.fleet, err = live.Follow(ctx, s.options.Options)
	return s, err
}

// Address is the address of the page on the listener, with the code that lets a browser in.
func (s *Server) Address(l net.Listener) string {
	return "http://" + l.Addr().String() + "/#code=" + string(s.code)
}

// Serve serves the page until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() {
		<-ctx.Done()
		_ = server.Close() // streams of events have no end of their own
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// Handler serves the page, and the data that it shows to the browser with the code.
func (s *Server) Handler() http.Handler {
	return s.options.Site.Pages(s.code.guard(s.Data().ServeHTTP))
}

// Data serves the data that the page shows. The caller decides who gets it.
func (s *Server) Data() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /api/about", s.about)
	m.HandleFunc("GET /api/fleet", s.changes)
	m.HandleFunc("GET /api/object", s.object)
	m.Handle("POST /api/plan", s.options.Site.posts(s.plan))
	if s.options.ActionLog != nil {
		m.Handle("POST /api/action", s.options.Site.posts(s.action))
	}
	return m
}

// Outdated reports whether the user may read other kinds now than when the server began to watch them.
func (s *Server) Outdated(ctx context.Context) (bool, error) { return s.fleet.Outdated(ctx) }

func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(map[string]string{"cluster": s.options.Cluster, "namespace": s.options.Namespace, "user": s.options.User}))
}

// Busy reports whether the server drains a node, as a user ordered: it must not end then.
func (s *Server) Busy() bool { return s != nil && s.drains.Any() }

// changes streams the fleet and its changes.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	changes, end := s.fleet.Subscribe()
	defer end()
	out := stream(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.options.Clock.After(aliveTime):
			if out.alive() != nil {
				return
			}
		case c, ok := <-changes:
			if !ok || out.send(encoded(c)) != nil {
				return
			}
		}
	}
}
