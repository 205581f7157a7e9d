// Package cloud runs machines on OpenStack: servers of Nova on ports of Neutron, booted from images of
// Glance or volumes of Cinder.
//
// Nova creates another server for each request. The first port of a machine prevents a second server:
// Neutron assigns a MAC address once in a network, and the address is computed from the machine's UID (see
// lock.go).
package cloud

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
	"github.com/millwright-dev/millwright/providers/openstack/spec"
	"github.com/millwright-dev/millwright/serve"
)

// Config has the dependencies of a [Provider].
type Config struct {
	Clock provider.Clock
	// Objects reads Infrastructure and ConfigMaps of the control cluster; nil: it has neither.
	Objects provider.Objects
}

// Provider implements [provider.Provider].
type Provider struct {
	config  Config
	specs   *kit.Specs[plan]
	clients *kit.Clients[*client]
	created *createdPorts
	checks  *checks
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(config Config) *Provider {
	return &Provider{
		config: config, specs: kit.NewSpecs(decode), created: newCreatedPorts(), checks: newChecks(config.Clock.Now()),
		clients: kit.NewClients[*client](config.Clock, 0, 0),
	}
}

// Plugin is the provider to be served.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name: name,
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, Objects: e.Objects}), nil
		},
		// Clouds differ, and few have limits at all: this rate is safe for a Keystone and a Nova with a few
		// workers.
		Limits: decorate.Limits{PerSecond: 20, Burst: 40},
	}
}

const name = "openstack"

// Name implements [provider.Provider].
func (*Provider) Name() string { return name }

// Open implements [provider.Provider]. The first request to the cloud is that of the session's first call.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{provider: p, scope: scope{class: class, bare: len(class.Spec) == 0}}
	if !s.bare {
		var err error
		if s.plan, err = p.specs.Get(class.API, class.Spec); err != nil {
			return nil, err
		}
	}
	var err error
	if s.clusterConfig, err = p.clusterConfig(ctx, class); err != nil {
		return nil, err
	}
	return s, nil
}

// decode reads the spec of either API.
func decode(api string, raw []byte) (plan, error) {
	switch api {
	case provider.OpenShift:
		s, err := spec.DecodeOpenShift(raw)
		if err != nil {
			return plan{}, err
		}
		return ofOpenShift(s), nil
	case provider.Gardener:
		s, err := spec.DecodeGardener(raw)
		if err != nil {
			return plan{}, err
		}
		return ofGardener(s.Spec), nil
	}
	return plan{}, provider.Errorf(provider.Invalid, "OpenStack has no specs of the API %q", api)
}

// ReadSpec implements [provider.SpecReader]: OpenShift's spec calls the credentials cloudsSecret, and may
// name namespaces. Its region is in its clouds.yaml.
func (*Provider) ReadSpec(api string, raw []byte) (names provider.SpecNames, err error) {
	if api == provider.Gardener {
		names.Region = spec.RegionOf(raw)
	}
	if api != provider.OpenShift {
		_, _, err = lenient.Decode[spec.Gardener](raw)
		return names, err
	}
	s, _, err := lenient.Decode[spec.OpenShift](raw)
	if err != nil {
		return names, err
	}
	if u := s.UserDataSecret; u != nil {
		names.UserData = provider.SecretRef{Namespace: u.Namespace, Name: u.Name}
	}
	if c := s.CloudsSecret; c != nil {
		names.Credentials = provider.SecretRef{Namespace: c.Namespace, Name: c.Name}
	}
	return names, nil
}
