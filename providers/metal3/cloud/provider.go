// Package cloud runs machines on bare metal: on BareMetalHosts of Metal3, which exist before any machine.
// They are in the cluster and namespace of the machine, or in the cluster of a kubeconfig.
//
// A secret of a fixed name assigns one host to a machine: it contains the machine's user data, is owned by
// the chosen host, and is written before that host. Both are written only if they are unchanged since they
// were read. So two processes that claim a host for the same machine agree on the host, and two machines
// never get the same host.
package cloud

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/kubeapi"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
	"github.com/millwright-dev/millwright/serve"
)

// Config has the dependencies of a [Provider].
type Config struct {
	Clock provider.Clock
	// Control is the cluster of the machines; nil: hosts are in the clusters of kubeconfigs.
	Control *rest.Config
	// Namespace returns the namespace of the machines of an API; empty, or nil: all namespaces.
	Namespace func(api string) string
}

// Provider implements [provider.Provider].
type Provider struct {
	config  Config
	specs   *kit.Specs[*spec.Machine]
	clients *kit.Clients[*kubeapi.Client]
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(config Config) *Provider {
	return &Provider{config: config, specs: kit.NewSpecs(decode), clients: kit.NewClients[*kubeapi.Client](config.Clock, 0, 0)}
}

// Plugin returns the provider to serve.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name: name,
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, Control: e.Control, Namespace: e.Namespace}), nil
		},
		// The API server of a small cluster can serve this load besides its own controllers.
		Limits: decorate.Limits{PerSecond: 20, Burst: 40},
	}
}

const name = "metal3"

// Name implements [provider.Provider].
func (*Provider) Name() string { return name }

// Open implements [provider.Provider]. It makes no call to the cluster.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{provider: p, scope: scope{class: class, here: len(class.Credentials[kubeapi.KubeconfigKey]) == 0}}
	if len(class.Spec) == 0 {
		return s, nil
	}
	var err error
	if s.spec, err = p.specs.Get(class.API, class.Spec); err != nil {
		return nil, err
	}
	return s, nil
}

// decode decodes the spec of either API.
func decode(api string, raw []byte) (*spec.Machine, error) {
	read := map[string]func([]byte) (*spec.Machine, error){provider.OpenShift: spec.DecodeOpenShift, provider.Gardener: spec.DecodeGardener}[api]
	if read == nil {
		return nil, provider.Errorf(provider.Invalid, "Metal3 has no specs of the API %q", api)
	}
	return read(raw)
}

// ReadSpec implements [provider.SpecReader]: the original has its own field name for the user data secret.
func (*Provider) ReadSpec(api string, raw []byte) (names provider.SpecNames, err error) {
	if api != provider.OpenShift {
		var s spec.Gardener
		return names, kit.DecodeStrict(raw, &s)
	}
	names.UserData, names.Credentials, err = spec.OpenShiftSecrets(raw)
	return names, err
}
