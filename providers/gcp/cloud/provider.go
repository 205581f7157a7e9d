package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/serve"
)

// Name is the provider's.
const Name = "gcp"

// Config has the dependencies and settings of a provider.
type Config struct {
	Clock provider.Clock
	// Objects are those of the control cluster; may be nil.
	Objects provider.Objects
	// Endpoint replaces the addresses of all APIs; empty: their own.
	Endpoint string
}

// Provider implements [provider.Provider].
type Provider struct {
	config  Config
	clients *kit.Clients[*client]
	specs   *kit.Specs[plan]
}

var _ provider.Provider = &Provider{}

// New returns a provider.
func New(c Config) *Provider {
	return &Provider{config: c, clients: kit.NewClients[*client](c.Clock, 0, 0), specs: kit.NewSpecs(decode)}
}

// Plugin is the provider to be served.
func Plugin() serve.Plugin {
	endpoint := ""
	return serve.Plugin{
		Name: Name,
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&endpoint, "gcp-endpoint", "", "URL at which the APIs of Google Cloud are, in place of their own and of those that Infrastructure names")
		},
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, Objects: e.Objects, Endpoint: endpoint}), nil
		},
		// A project may send 1500 reads a minute, and as many changes, in a region.
		Limits: decorate.Limits{PerSecond: 20},
	}
}

// Name implements [provider.Provider].
func (*Provider) Name() string { return Name }

// Open implements [provider.Provider].
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	s := &call{scope: &scope{class: class, bare: len(class.Spec) == 0}, clients: p.clients}
	var err error
	if !s.bare {
		if s.plan, err = p.specs.Get(class.API, class.Spec); err != nil {
			return nil, err
		}
	}
	if err := s.checkCluster(); err != nil {
		return nil, err
	}
	if s.from, err = p.clusterConfig(ctx, class.API); err != nil {
		return nil, err
	}
	login, err := loginOf(class.Credentials)
	if err != nil {
		return nil, err
	}
	if s.project = s.plan.project(); s.project == "" {
		s.project = login.project
	}
	if s.project == "" {
		return nil, provider.Errorf(provider.Denied, "neither the credentials nor the provider spec name a project")
	}
	s.key = provider.KeyOf(login.secret, s.from.endpoints.key(), login.universe(), s.from.bundle)
	s.client, err = p.clients.Get(ctx, s.key, func(context.Context) (*client, error) { return newClient(login, s.from, p.config.Clock) })
	if err != nil {
		return nil, err
	}
	return &session{s}, nil
}

// clusterConfig are the control cluster's settings of the cloud.
type clusterConfig struct {
	endpoints endpoints
	// bundle are certificates in PEM that are trusted besides the system's.
	bundle []byte
	// labels and tags are those of all resources of the cluster.
	labels map[string]string
	tags   []configv1.GCPResourceTag
}

// endpoints are URLs that end with a slash; empty ones are the API's own.
type endpoints struct {
	compute, resourceManager, exchange, credentials string
}

func (e endpoints) key() string {
	return strings.Join([]string{e.compute, e.resourceManager, e.exchange, e.credentials}, " ")
}

// platform is GCP's part of Infrastructure. Endpoints were in it as a preview, and clusters still have
// them.
type platform struct {
	configv1.GCPPlatformStatus
	ServiceEndpoints []struct{ Name, URL string }
}

// clusterConfig reads the settings of an OpenShift cluster for GCP. Other clusters are not read.
func (p *Provider) clusterConfig(ctx context.Context, api string) (s clusterConfig, err error) {
	s.labels = map[string]string{}
	if api == provider.OpenShift {
		err = p.read(ctx, &s)
	}
	if err != nil {
		return s, err
	}
	if base := strings.TrimSuffix(p.config.Endpoint, "/"); base != "" {
		s.endpoints = endpoints{compute: base + computePath, resourceManager: base + "/", exchange: base + "/", credentials: base + "/"}
	}
	return s, nil
}

// read reads Infrastructure, and the bundle of certificates if there is one.
func (p *Provider) read(ctx context.Context, s *clusterConfig) error {
	if p.config.Objects == nil {
		return nil
	}
	raw, err := p.config.Objects.Object(ctx, provider.ObjectRef{APIVersion: configv1.GroupVersion.String(), Kind: "Infrastructure", Name: "cluster"})
	if errors.Is(err, provider.ErrNoObject) {
		return nil
	}
	if err != nil {
		return err
	}
	var i struct {
		Status struct{ PlatformStatus struct{ GCP platform } }
	}
	if err := json.Unmarshal(raw, &i); err != nil {
		return fmt.Errorf("read Infrastructure cluster: %w", err)
	}
	s.take(i.Status.PlatformStatus.GCP)
	s.bundle, err = infrastructure.CloudCABundle(ctx, p.config.Objects)
	return err
}

func (s *clusterConfig) take(p platform) {
	s.tags = p.ResourceTags
	for _, l := range p.ResourceLabels {
		s.labels[l.Key] = l.Value
	}
	for _, e := range p.ServiceEndpoints {
		at := strings.TrimSuffix(e.URL, "/") + "/"
		switch e.Name {
		case "Compute":
			s.endpoints.compute = at
			if !strings.Contains(at, "/compute/") {
				s.endpoints.compute = strings.TrimSuffix(at, "/") + computePath
			}
		case "CloudResourceManager":
			s.endpoints.resourceManager = at
		case "STS":
			s.endpoints.exchange = at
		case "IAMCredentials":
			s.endpoints.credentials = at
		}
	}
}

// source is the hash of what a session reads from the control cluster.
func (s *clusterConfig) source() provider.ClientKey {
	parts, _ := json.Marshal([]any{s.endpoints.key(), s.labels, s.tags}) // text has no errors
	return provider.KeyOf(nil, "", "", s.bundle, parts)
}

// computePath is the path of the compute API below its host.
const computePath = "/compute/v1/"
