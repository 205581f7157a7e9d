// Package larch is the provider of Larch, an invented cloud. It is a template to copy; docs/write-a-provider.md explains each file.
//
// Larch has the common deficiencies of clouds. It has no client tokens, and names of machines are not unique, so a repeated request
// creates a second machine. Its listings lag. But names of disks are unique, and a disk belongs to at most one machine.
package larch

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/serve"
)

// The tags that the provider adds to those of the user, on machines and disks.
const (
	tagPrefix    = "millwright-"
	TagCluster   = tagPrefix + "cluster"
	TagUID       = tagPrefix + "uid"
	TagName      = tagPrefix + "name"
	TagNamespace = tagPrefix + "namespace"
	TagOwner     = tagPrefix + "owner"
)

// readLag is the longest delay of Larch's listings.
const readLag = 10 * time.Second

// Plugin returns the configuration of the program. Larch allows ten requests per second.
func Plugin() serve.Plugin {
	return serve.Plugin{
		Name:   "larch",
		New:    func(_ context.Context, e serve.Env) (provider.Provider, error) { return New(e.Clock), nil },
		Limits: decorate.Limits{PerSecond: 10, Burst: 20},
	}
}

// Provider implements [provider.Provider].
type Provider struct {
	specs   *kit.Specs[*Spec]
	clients *kit.Clients[*client]
}

// New returns a provider with empty caches.
func New(clock provider.Clock) *Provider {
	return &Provider{specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](clock, 0, 0)}
}

// Name implements [provider.Provider].
func (*Provider) Name() string { return "larch" }

// Open implements [provider.Provider]. It sends no request. The class of a machine under deletion may not exist any more; then the
// spec is empty. Therefore the endpoint is in the credentials, and not in the spec.
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
