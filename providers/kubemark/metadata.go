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

// Announcement is an event of an instance that the infrastructure announces.
type Announcement string

// The announcements.
const (
	// Terminate: the instance will be terminated.
	Terminate Announcement = "terminate"
	// Rebalance: users should replace the instance. Nothing follows.
	Rebalance Announcement = "rebalance"
	// Maintain: the instance will be restarted. Nothing follows.
	Maintain Announcement = "maintenance"
)

// in returns the field of an announcement; nil for an unknown announcement.
func (a Announcement) in(t *cloud.Announced) *time.Time {
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

// MetadataFile is the file in Config.Dir with the URL of ServeMetadata.
const MetadataFile = "metadata.url"

// Metadata serves the metadata services for programs on the instance, below /<cluster>/<node name>: the parts
// of AWS (IMDSv2), Azure and GCP about interruptions. At /<cluster>/<node name>/interruption, clients request
// announcements:
//
//	POST   ?announce=terminate&in=2m   also rebalance, maintenance
//	DELETE                             withdraws all announcements
//
// Neither authenticates the client.
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

// ServeMetadata serves Metadata at Config.MetadataAddress until ctx is done, and writes its URL to
// MetadataFile. Without an address it returns at once.
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

// publish writes the file with the URL, atomically.
func (p *Provider) publish(url string) error {
	if p.config.Dir == "" {
		return nil
	}
	path := filepath.Join(p.config.Dir, MetadataFile)
	next := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(next, []byte(url), 0o600); err != nil {
		return fmt.Errorf("write the URL of the metadata service: %w", err)
	}
	return os.Rename(next, path)
}

// metadata answers for instances.
type metadata struct{ provider *Provider }

// about handles a request about one instance.
type about func(w http.ResponseWriter, r *http.Request, i cloud.Instance)

// with finds the instance of a request.
func (m *metadata) with(answer about) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i, ok, err := m.provider.cloud.Named(r.Context(), r.PathValue("cluster"), r.PathValue("node"))
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case !ok:
			http.Error(w, "no such instance", http.StatusNotFound)
		default:
			answer(w, r, i)
		}
	}
}

func (m *metadata) now() time.Time { return m.provider.config.Clock.Now() }

func (m *metadata) announce(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
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
	if a.in(&cloud.Announced{}) == nil {
		http.Error(w, fmt.Sprintf("announce: want %s, %s or %s, not %q", Terminate, Rebalance, Maintain, a), http.StatusBadRequest)
		return
	}
	at := m.now().Add(notice)
	m.done(w, m.provider.Console().Tell(r.Context(), i.Cluster, toInstance(i), a, at))
}

func (m *metadata) withdraw(w http.ResponseWriter, r *http.Request, i cloud.Instance) {
	m.done(w, m.provider.Console().Withdraw(r.Context(), i.Cluster, toInstance(i)))
}

func (*metadata) done(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
