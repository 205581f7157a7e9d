package cloud

import (
	"context"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// Options are the dependencies and settings of the provider.
type Options struct {
	Clock provider.Clock
	// Objects are those of the control cluster; nil for none.
	Objects provider.Objects
	// Endpoint is the URL of Prism Central; empty for the one that the secret or the Infrastructure names.
	Endpoint string
	// PageSize is the number of entities on a page of a listing; 0 for 100, as the original requests.
	PageSize int
}

// Provider runs virtual machines on Nutanix.
type Provider struct {
	options Options
	specs   *kit.Specs[*plan]
	clients *kit.Clients[*client]
	// unknown are the categories that do not exist, by client and category.
	unknown *kit.Memo[struct{}]
}

var _ provider.Provider = &Provider{}

// New returns a provider.
func New(o Options) *Provider {
	if o.PageSize == 0 {
		o.PageSize = 100
	}
	return &Provider{
		options: o, specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](o.Clock, 0, 0), unknown: kit.NewMemo[struct{}](o.Clock, 2*aWhile),
	}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return "nutanix" }

// Open implements [provider.Provider]. It makes no call to Prism Central.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{class: class, access: access{provider: p, secret: relevant(class.Credentials)}}
	if len(class.Spec) > 0 {
		made, err := p.specs.Get(class.API, class.Spec)
		if err != nil {
			return nil, err
		}
		s.plan = made
	}
	var err error
	if s.site, err = siteOf(ctx, p.options, class.Credentials); err != nil {
		return nil, err
	}
	if s.plan != nil {
		s.place, s.placeErr = s.site.placeOf(s.plan)
	}
	return s, nil
}

// session is an open class.
type session struct {
	access
	class provider.Class
	plan  *plan // nil: the class has lost its spec
	place place
	// placeErr is the reason why the place is unknown. Only a creation needs the place.
	placeErr error
}

// access has the settings to call Prism Central for a class.
type access struct {
	provider *Provider
	secret   map[string][]byte
	site     site
}

// client returns the client for the session's credentials.
func (a *access) client(ctx context.Context) (*client, error) {
	c, err := a.provider.clients.Get(ctx, a.key(), func(context.Context) (*client, error) {
		return newClient(a.provider.options, a.site, a.secret)
	})
	return c, a.observe("read the credentials", err)
}

func (a *access) key() provider.ClientKey {
	return provider.KeyOf(a.secret, a.site.endpoint, "", a.site.caBundle)
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
	ownership struct{ *session } // the marks of the owner
	finder    struct{ *session } // searches for virtual machines
	lookup    struct{ *session } // searches for what specs refer to
	creator   struct{ *session } // creates a virtual machine
	deleter   struct{ *session } // deletes virtual machines
)
