package kubemark

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Announcement is what the infrastructure can be told to announce about an
// instance.
type Announcement string

// The announcements.
const (
	// Terminate: the instance is taken back.
	Terminate Announcement = "terminate"
	// Rebalance: it is recommended to replace it. Nothing follows.
	Rebalance Announcement = "rebalance"
	// Maintain: it is to be restarted. Nothing follows.
	Maintain Announcement = "maintenance"
)

// in is where an announcement is kept; nil for one that is not known.
func (a Announcement) in(t *cloud.Told) *time.Time {
	switch a {
	case Terminate:
		return &t.Termination
	case Rebalance:
		return &t.Rebalance
	case Maintain:
		return &t.Maintenance
	}
	return nil
}

// MetadataFile in Config.Dir has the URL at which ServeMetadata serves.
const MetadataFile = "metadata.url"

// Metadata serves, below /<cluster>/<node name>, the metadata services that
// programs on the instance would ask: in the words of AWS (IMDSv2), Azure and
// GCP, so far as they are about interruptions. At
// /<cluster>/<node name>/interruption the infrastructure is told what to
// announce:
//
//	POST   ?announce=terminate&in=2m   rebalance, maintenance likewise
//	DELETE                             takes everything back
//
// Neither asks who is asking.
func (p *Provider) Metadata() http.Handler {
	mux := http.NewServeMux()
	m := &metadata{provider: p}
	const instance = "/{cluster}/{node}"
	mux.HandleFunc("POST "+instance+"/interruption", m.with(m.announce))
	mux.HandleFunc("DELETE "+instance+"/interruption", m.with(m.withdraw))
	mux.HandleFunc("PUT "+instance+"/latest/api/token", m.with(awsToken))
	mux.HandleFunc("GET "+instance+"/latest/meta-data/{item...}", m.with(m.aws))
	mux.HandleFunc("GET "+instance+"/metadata/scheduledevents", m.with(m.azureEvents))
	mux.HandleFunc("GET "+instance+"/metadata/instance/compute/name", m.with(azureName))
	mux.HandleFunc("GET "+instance+"/computeMetadata/v1/instance/{item}", m.with(m.gcp))
	return mux
}

// ServeMetadata serves Metadata at Config.MetadataAddress until ctx is done, and
// writes its URL to MetadataFile. Without an address it returns at once.
func (p *Provider) ServeMetadata(ctx context.Context) error {
	if p.config.MetadataAddress == "" {
		return nil
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", p.config.MetadataAddress)
	if err != nil {
		return fmt.Errorf("serve metadata: %w", err)
	}
	server := &http.Server{Handler: p.Metadata(), ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := p.publish("http://" + listener.Addr().String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metadata: %w", err)
	}
	return nil
}

// publish writes the URL, whole.
func (p *Provider) publish(url string) error {
	if p.config.Dir == "" {
		return nil
	}
	path := filepath.Join(p.config.Dir, MetadataFile)
	next := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(next, []byte(url), 0o600); err != nil {
		return fmt.Errorf("tell where metadata is served: %w", err)
	}
	return os.Rename(next, path)
}

// metadata answers for instances.
type metadata struct{ provider *Provider }

// about is a handler for one instance.
type about func(w http.ResponseWriter, r *http.Request, i cloud.Sight)

// with finds the instance that a request is about.
func (m *metadata) with(answer about) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i, ok, err := m.provider.cloud.Named(r.Context(), r.PathValue("cluster"), r.PathValue("node"))
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case !ok:
			http.Error(w, "there is no such instance", http.StatusNotFound)
		default:
			answer(w, r, i)
		}
	}
}

func (m *metadata) now() time.Time { return m.provider.config.Clock.Now() }

func (m *metadata) announce(w http.ResponseWriter, r *http.Request, i cloud.Sight) {
	a, in := Announcement(r.FormValue("announce")), r.FormValue("in")
	notice := 2 * time.Minute
	if in != "" {
		var err error
		if notice, err = time.ParseDuration(in); err != nil || notice < 0 {
			http.Error(w, fmt.Sprintf("in: want a duration such as 2m, not %q", in), http.StatusBadRequest)
			return
		}
	}
	if a == "" {
		a = Terminate
	}
	if a.in(&cloud.Told{}) == nil {
		http.Error(w, fmt.Sprintf("announce: want %s, %s or %s, not %q", Terminate, Rebalance, Maintain, a), http.StatusBadRequest)
		return
	}
	at := m.now().Add(notice)
	m.done(w, m.provider.Console().Tell(r.Context(), i.Cluster, instance(i), a, at))
}

func (m *metadata) withdraw(w http.ResponseWriter, r *http.Request, i cloud.Sight) {
	m.done(w, m.provider.Console().Withdraw(r.Context(), i.Cluster, instance(i)))
}

func (*metadata) done(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
