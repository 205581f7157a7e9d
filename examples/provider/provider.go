// Package larch runs machines on Larch, a cloud that does not exist. It is a provider to copy: docs/write-a-provider.md
// says what is what.
//
// Larch is as unhelpful as clouds are. It makes a second machine for whoever asks twice, since it knows no client tokens and
// its machines' names are not unique, and its listings run behind. Of disks it has one of a name, and a disk is one machine's.
package larch

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/serve"
)

// What is written on machines and disks beside the user's tags.
const (
	tagPrefix    = "millwright-"
	TagCluster   = tagPrefix + "cluster"
	TagUID       = tagPrefix + "uid"
	TagName      = tagPrefix + "name"
	TagNamespace = tagPrefix + "namespace"
	TagOwner     = tagPrefix + "owner"
)

// readLag is how far Larch's listings run behind at most.
const readLag = 10 * time.Second

// Plugin is what the program serves. Larch asks for at most ten calls a second.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name:   "larch",
		New:    func(_ context.Context, e serve.Env) (provider.Provider, error) { return New(e.Clock), nil },
		Limits: decorate.Limits{PerSecond: 10, Burst: 20},
	}
}

// Provider runs machines on Larch.
type Provider struct {
	specs   *kit.Specs[*Spec]
	clients *kit.Clients[*client]
}

// New makes a provider that knows nothing yet.
func New(clock provider.Clock) *Provider {
	return &Provider{specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](clock, 0, 0)}
}

// Name implements [provider.Provider].
func (*Provider) Name() string { return "larch" }

// Open makes no call. A machine on its way out may have lost its class: then it is opened without a spec, so that where
// Larch is has to be among the credentials.
func (p *Provider) Open(ctx context.Context, class provider.Class) (_ provider.Session, err error) {
	s := &session{class: class}
	if len(class.Spec) > 0 {
		if s.spec, err = p.specs.Get(class.API, class.Spec); err != nil {
			return nil, err
		}
	}
	endpoint, token := string(class.Credentials["endpoint"]), string(class.Credentials["token"])
	if endpoint == "" || token == "" {
		return nil, provider.Errorf(provider.Denied, "the secret with the credentials needs the keys endpoint and token")
	}
	key := provider.KeyOf(class.Credentials, endpoint, "")
	s.client, err = p.clients.Get(ctx, key, func(context.Context) (*client, error) {
		observe := func(err error) error { return p.clients.Observe(key, err) }
		return &client{endpoint: endpoint, token: token, observe: observe}, nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}
