package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

// Options are the dependencies and settings of the provider.
type Options struct {
	Clock provider.Clock
	// Endpoint is the address that names the endpoints of all services; empty for that of Yandex Cloud. An
	// http URL is the address of all services, without TLS.
	Endpoint string
}

// Provider runs instances on Yandex Cloud.
type Provider struct {
	options  Options
	services *services
	specs    *kit.Specs[*plan]
	clients  *kit.Clients[*client]
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{options: o, services: newServices(o), specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](o.Clock, 0, 0)}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return "yandex" }

// ReadSpec implements [provider.SpecReader].
func (p *Provider) ReadSpec(_ string, raw []byte) (provider.SpecNames, error) {
	names, err := provider.ReadCommon(raw)
	names.Region = spec.RegionOf(raw)
	return names, err
}

// Open implements [provider.Provider]. It makes no call to Yandex Cloud.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{class: class, access: access{provider: p, secret: relevant(class.Credentials)}}
	if len(class.Spec) == 0 {
		return s, nil
	}
	made, err := p.specs.Get(class.API, class.Spec)
	if err != nil {
		return nil, err
	}
	s.plan = made
	return s, nil
}

// session is an open class.
type session struct {
	access
	class provider.Class
	plan  *plan // nil: the class has lost its spec
}

// access has the settings to call Yandex Cloud for a class.
type access struct {
	provider *Provider
	secret   map[string][]byte
}

// client returns the client for the session's credentials.
func (a *access) client(ctx context.Context) (*client, error) {
	c, err := a.provider.clients.Get(ctx, a.key(), func(context.Context) (*client, error) {
		return newClient(a.provider, a.secret)
	})
	return c, a.observe("read the credentials", err)
}

func (a *access) key() provider.ClientKey {
	return provider.KeyOf(a.secret, a.provider.options.Endpoint, "")
}

// observe classifies the error of a call, and drops clients with invalid credentials.
func (a *access) observe(doing string, err error) error {
	if err == nil {
		return nil
	}
	return a.provider.clients.Observe(a.key(), classify(doing, err))
}

func (a *access) now() time.Time { return a.provider.options.Clock.Now() }

// The methods of a session are on types of their own, by subject. Each is the session.
type (
	ownership struct{ *session } // the labels of the owner
	finder    struct{ *session } // searches for instances
	creator   struct{ *session } // creates an instance
	deleter   struct{ *session } // deletes instances
)
