package admission

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/millwright-dev/millwright/internal/admission/certs"
)

// Configurations are the names of the webhook configurations whose webhooks are served here; config/webhook has them.
var Configurations = []string{"machine-api", "millwright-warnings"}

// period is the default pause between two checks of facts and certificates.
const period = 30 * time.Second

// ServerOptions are the options of a server.
type ServerOptions struct {
	// Host and Port are the address that it listens on; an empty host means every address.
	Host string
	Port int
	// TLS sets everything but the certificate, such as versions and ciphers; nil: Go's defaults, from
	// version 1.2.
	TLS func(*tls.Config)
	// CertDir may have a certificate; otherwise Secret keeps one that the process creates.
	CertDir string
	Secret  client.ObjectKey
	// Period is the pause between two checks of both, and of the facts about the cluster; 0 is 30 s.
	Period time.Duration
	// Client and Objects read and write past any cache.
	Client  client.Client
	Objects dynamic.Interface
	// Given are the facts that hold unless the cluster says otherwise.
	Given Cluster
	// Admitters have the rules of infrastructures, by [Cluster].Type.
	Admitters Admitters
	// Handlers are the webhooks, by path, and Configurations the objects that name them; nil: [Handlers] and [Configurations].
	Handlers       func(Options) map[string]http.Handler
	Configurations []string
	Clock          clock.Clock
	Log            logr.Logger
}

// Server serves the webhooks. It fails softly: the reason why it cannot serve is logged once, and the
// process continues.
type Server struct {
	ServerOptions
	facts *Facts
	certs *certs.Keeper
}

// NewServer returns a server that does nothing until it is run.
func NewServer(o ServerOptions) *Server {
	o.Period = cmp.Or(o.Period, period)
	if o.Handlers == nil {
		o.Handlers, o.Configurations = Handlers, Configurations
	}
	return &Server{
		ServerOptions: o, facts: NewFacts(o.Objects, o.Given),
		certs: certs.New(certs.Options{
			Dir: o.CertDir, Client: o.Client, Secret: o.Secret, Configurations: o.Configurations, Period: o.Period, Clock: o.Clock, Log: o.Log,
		}),
	}
}

// Run serves until ctx ends. It listens as soon as there is a certificate: until then connections are
// refused at once.
func (s *Server) Run(ctx context.Context) error {
	_ = s.facts.Refresh(ctx) // so that the first request finds them; an error is reported below
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		s.follow(ctx)
	}()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.certs.Run(ctx)
	}()
	defer func() { <-followed; <-kept }()
	select {
	case <-ctx.Done():
		return nil
	case <-s.certs.Ready():
	}
	s.repeat(ctx, "Cannot serve webhooks; objects are written without them", s.listen)
	return nil
}

// follow keeps the facts about the cluster up to date.
func (s *Server) follow(ctx context.Context) {
	s.repeat(ctx, "Cannot read what the cluster says of its infrastructure; webhooks go by what is known", s.facts.Refresh)
}

// repeat calls a function again and again, and logs its errors when they change.
func (s *Server) repeat(ctx context.Context, complaint string, do func(context.Context) error) {
	told := ""
	for {
		text := ""
		if err := do(ctx); err != nil && ctx.Err() == nil {
			if text = err.Error(); text != told {
				s.Log.Error(err, complaint)
			}
		}
		told = text
		pause := s.Clock.NewTimer(s.Period)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C():
		}
	}
}

// listen serves until ctx ends or the port is not available.
func (s *Server) listen(ctx context.Context) error {
	server := webhook.NewServer(webhook.Options{Host: s.Host, Port: s.Port, TLSOpts: []func(*tls.Config){s.configure}})
	for path, h := range s.Handlers(Options{Admitters: s.Admitters, Cluster: s.facts.Now, Secrets: s.Client, Events: s.Client, Clock: s.Clock, Log: s.Log}) {
		server.Register(path, h)
	}
	return server.Start(ctx)
}

func (s *Server) configure(c *tls.Config) {
	c.GetCertificate = s.certs.GetCertificate
	// The streams of HTTP/2 have no use here, and have been used for denial of service.
	c.NextProtos = []string{"http/1.1"}
	c.MinVersion = tls.VersionTLS12
	if s.TLS != nil {
		s.TLS(c)
	}
}
