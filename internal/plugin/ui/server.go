// Package ui is the web page of `kubectl machine ui`: the fleet, what is wrong with it, and the life of each
// machine. It is served on this machine with the rights of the user's kubeconfig, and only reads.
//
// The sources of the page are in web, and tools/ui bundles them into assets.
package ui

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

//go:embed assets
var assets embed.FS

// Options say what the page shows.
type Options struct {
	// Control is the cluster with the machines, Target the one that they join; nil: the same.
	Control, Target *rest.Config
	// Namespace is the only one to show; empty is all.
	Namespace string
	// Cluster is the cluster's name for users.
	Cluster string
	Clock   clock.Clock
}

// Server serves the page.
type Server struct {
	options  Options
	session  session
	clusters collect.Clusters
	feed     *feed
	objects  *objects
}

// New connects to the clusters, starts to watch them, and returns a server of the page.
func New(ctx context.Context, o Options) (*Server, error) {
	scheme := run.Scheme()
	control, err := newReader(o.Control, scheme, o.Namespace, o.Clock)
	if err != nil {
		return nil, err
	}
	target := control
	if o.Target != nil {
		if target, err = newReader(o.Target, scheme, "", o.Clock); err != nil {
			return nil, fmt.Errorf("cluster that machines join: %w", err)
		}
	}
	clusters := collect.Clusters{Control: control, Target: target}
	s := &Server{
		options: o, session: newSession(), clusters: clusters,
		feed:    newFeed(clusters, collect.Question{Namespace: o.Namespace}, o.Clock),
		objects: newObjects(),
	}
	s.feed.problems = func() []string { return append(control.problems(), target.problems()...) }
	changed := func(c client.Object) {
		s.feed.notify()
		s.objects.notify(c)
	}
	inControl, inTarget := watchedKinds()
	if target == control {
		inControl, inTarget = append(inControl, inTarget...), nil
	}
	if err := control.watch(ctx, o.Namespace, changed, inControl...); err != nil {
		return nil, err
	}
	if target != control {
		if err := target.watch(ctx, "", changed, inTarget...); err != nil {
			return nil, err
		}
	}
	go s.feed.run(ctx)
	return s, nil
}

// Address is the address of the page on the listener, with the code that lets a browser in.
func (s *Server) Address(l net.Listener) string {
	return "http://" + l.Addr().String() + "/#code=" + s.session.code
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

// Handler serves the page, and the data that it shows.
func (s *Server) Handler() http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	m := http.NewServeMux()
	m.Handle("GET /", http.FileServerFS(files))
	m.HandleFunc("POST /api/session", s.session.open)
	m.Handle("GET /api/about", s.session.guard(http.HandlerFunc(s.about)))
	m.Handle("GET /api/fleet", s.session.guard(http.HandlerFunc(s.fleet)))
	m.Handle("GET /api/object", s.session.guard(http.HandlerFunc(s.object)))
	return harden(m)
}

func (s *Server) about(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(map[string]string{"cluster": s.options.Cluster, "namespace": s.options.Namespace}))
}

// fleet streams the fleet and its changes.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) {
	changes, end := s.feed.subscribe()
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
		case text, ok := <-changes:
			if !ok || out.send(text) != nil {
				return
			}
		}
	}
}
