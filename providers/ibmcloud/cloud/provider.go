package cloud

import (
	"cmp"
	"context"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/ibmcloud/spec"
)

// Options are the dependencies and settings of the provider.
type Options struct {
	Clock provider.Clock
	// Objects reads the Infrastructure of an OpenShift cluster; nil for other clusters.
	Objects provider.Objects
	// Endpoint replaces all endpoints of IBM Cloud: that of a simulator. Empty for those of IBM Cloud.
	Endpoint string
}

// Provider runs instances on IBM Cloud VPC.
type Provider struct {
	options Options
	specs   *kit.Specs[*plan]
	clients *kit.Clients[*client]
	tagged  *kit.Memo[struct{}] // instances that have a spec's tags, by ID and tags
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{options: o, specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](o.Clock, 0, 0), tagged: kit.NewMemo[struct{}](o.Clock, aDay)}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return name }

// ReadSpec implements [provider.SpecReader].
func (p *Provider) ReadSpec(_ string, raw []byte) (provider.SpecNames, error) {
	names, err := provider.ReadCommon(raw)
	names.Region = spec.RegionOf(raw)
	return names, err
}

// Open implements [provider.Provider]. It makes no call to IBM Cloud.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	config, err := p.clusterConfig(ctx, class)
	if err != nil {
		return nil, err
	}
	s := &session{class: class, config: config, access: access{provider: p, secret: relevant(class.Credentials), region: class.Region, endpoints: config.endpoints}}
	if len(class.Spec) == 0 {
		return s, nil
	}
	made, err := p.specs.Get(class.API, class.Spec)
	if err != nil {
		return nil, err
	}
	s.plan, s.region = made, made.Region
	return s, nil
}

// session is an open class.
type session struct {
	access
	class  provider.Class
	config clusterConfig
	plan   *plan // nil: the class has lost its spec
}

// access has the settings to call IBM Cloud for a class.
type access struct {
	provider *Provider
	secret   map[string][]byte
	// region is empty if the class names none.
	region    string
	endpoints endpoints
}

// on returns a client for the session's account, in the region of the spec, or else of the call's object.
func (a *access) on(ctx context.Context, regions ...string) (*client, error) {
	region := cmp.Or(append([]string{a.region}, regions...)...)
	if region == "" {
		return nil, provider.Errorf(provider.Transient, "the region is unknown: the class has no spec any more, and no other source names the region")
	}
	c, err := a.provider.clients.Get(ctx, a.clientKey(region), func(context.Context) (*client, error) {
		return newClient(a.provider.options.Clock, a.secret, region, a.endpoints)
	})
	return c, a.observe("read the credentials", err)
}

func (a *access) clientKey(region string) provider.ClientKey {
	return provider.KeyOf(a.secret, a.endpoints.text(), region)
}

// observe classifies the error of a call, and drops clients with invalid credentials.
func (a *access) observe(doing string, err error) error {
	if err == nil {
		return nil
	}
	return a.provider.clients.Observe(a.clientKey(a.region), classify(doing, err))
}

// The methods of a session are on types of their own, by subject. Each is the session.
type (
	ownership struct{ *session } // the names of an instance's parts
	finder    struct{ *session } // searches for instances
	creator   struct{ *session } // creates an instance
	deleter   struct{ *session } // deletes instances
)
