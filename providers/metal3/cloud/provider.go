// Package cloud runs machines on bare metal: on BareMetalHosts of Metal3, which are there before any machine is. They are in the cluster and
// the namespace of the machine, or where a kubeconfig leads to.
//
// A machine gets one host by a secret, of which there is one of a name: it has the machine's user data, belongs to the host that is meant,
// and is written before that host is. Both are written only as they were read. So two processes that want hosts for one machine agree on
// the host, and two machines that want one host do not both get it.
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

// Config is what a [Provider] is made with.
type Config struct {
	Clock provider.Clock
	// Control is the cluster of the machines; nil: hosts are where kubeconfigs lead to.
	Control *rest.Config
	// Namespace is the one in which machines of the API are looked for; empty, or nil: all are.
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

// New makes a provider.
func New(config Config) *Provider {
	return &Provider{config: config, specs: kit.NewSpecs(decode), clients: kit.NewClients[*kubeapi.Client](config.Clock, 0, 0)}
}

// Plugin is the provider to be served.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name: name,
		New: func(_ context.Context, e serve.Env) (provider.Provider, error) {
			return New(Config{Clock: e.Clock, Control: e.Control, Namespace: e.Namespace}), nil
		},
		// What an API server of a small cluster stands beside its own controllers.
		Limits: decorate.Limits{PerSecond: 20, Burst: 40},
	}
}

const name = "metal3"

// Name implements [provider.Provider].
func (*Provider) Name() string { return name }

// Open implements [provider.Provider]. The cluster is first asked for something when the session is.
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

// decode reads the spec of either API.
func decode(api string, raw []byte) (*spec.Machine, error) {
	read := map[string]func([]byte) (*spec.Machine, error){provider.OpenShift: spec.DecodeOpenShift, provider.Gardener: spec.DecodeGardener}[api]
	if read == nil {
		return nil, provider.Errorf(provider.Invalid, "Metal3 has no specs of the API %q", api)
	}
	return read(raw)
}

// ReadSpec implements [provider.SpecReader]: the original has a name of its own for the secret with the user data.
func (*Provider) ReadSpec(api string, raw []byte) (names provider.SpecNames, err error) {
	if api != provider.OpenShift {
		var s spec.Gardener
		return names, kit.DecodeStrict(raw, &s)
	}
	names.UserData, names.Credentials, err = spec.OpenShiftSecrets(raw)
	return names, err
}
