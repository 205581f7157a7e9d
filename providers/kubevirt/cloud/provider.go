// Package cloud runs machines on KubeVirt: as virtual machines in a namespace of another cluster, to which
// the class's kubeconfig gives access.
//
// The virtual machine of a machine has the machine's name, and labels record its owner. The API server
// refuses a second object of that name; the provider then reads the labels to learn whether the existing one
// is the machine's own.
package cloud

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/kubeapi"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
	"github.com/millwright-dev/millwright/serve"
)

// Config has the dependencies of a [Provider].
type Config struct{ Clock provider.Clock }

// Provider implements [provider.Provider].
type Provider struct {
	config  Config
	specs   *kit.Specs[plan]
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
			return New(Config{Clock: e.Clock}), nil
		},
		// The API server of a small cluster can serve this load besides its own controllers.
		Limits: decorate.Limits{PerSecond: 20, Burst: 40},
	}
}

const name = "kubevirt"

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
	s := &session{provider: p, scope: scope{class: class, bare: len(class.Spec) == 0}}
	if s.bare {
		return s, nil
	}
	var err error
	if s.plan, err = p.specs.Get(class.API, class.Spec); err != nil {
		return nil, err
	}
	return s, nil
}

// plan is a decoded spec. It is shared: do not change it.
type plan struct {
	*spec.Machine
	api string
}

// decode decodes the spec of either API.
func decode(api string, raw []byte) (plan, error) {
	read := map[string]func([]byte) (*spec.Machine, error){provider.OpenShift: spec.DecodeOpenShift, provider.Gardener: spec.DecodeGardener}[api]
	if read == nil {
		return plan{}, provider.Errorf(provider.Invalid, "KubeVirt has no specs of the API %q", api)
	}
	m, err := read(raw)
	if err != nil {
		return plan{}, err
	}
	return plan{Machine: m, api: api}, nil
}

// ReadSpec implements [provider.SpecReader]: OpenShift's original has its own field names for the secrets.
func (*Provider) ReadSpec(api string, raw []byte) (names provider.SpecNames, err error) {
	if api != provider.OpenShift {
		var s spec.Gardener
		return names, kit.DecodeStrict(raw, &s)
	}
	names.UserData.Name, names.Credentials.Name, err = spec.OpenShiftSecrets(raw)
	return names, err
}
