package cloud

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// Options are the dependencies and settings of the provider.
type Options struct {
	Clock provider.Clock
	// Objects reads Infrastructure and the bundle of certificates, for machines of machine.openshift.io; may be nil.
	Objects provider.Objects
	// Endpoint replaces all endpoints of AWS without a replacement of their own: that of a simulator. Empty
	// for AWS.
	Endpoint string
}

// Provider runs instances on AWS.
type Provider struct {
	options Options
	specs   *kit.Specs[*plan]
	clients *kit.Clients[*client]
}

var (
	_ provider.Provider   = &Provider{}
	_ provider.SpecReader = &Provider{}
)

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{options: o, specs: kit.NewSpecs(decode), clients: kit.NewClients[*client](o.Clock, 0, 0)}
}

// Name implements [provider.Provider].
func (p *Provider) Name() string { return "aws" }

// ReadSpec implements [provider.SpecReader].
func (p *Provider) ReadSpec(api string, raw []byte) (provider.SpecNames, error) {
	names, err := provider.ReadCommon(raw)
	names.Region = spec.RegionOf(api, raw)
	return names, err
}

// clusterConfig has the settings for AWS of the cluster that machines join.
type clusterConfig struct {
	location
	tags  map[string]string // for all created resources
	stack stack
}

// stack has the protocols of a cluster.
type stack struct {
	dual, sixFirst bool
}

// Open implements [provider.Provider]. It makes no call to AWS.
func (p *Provider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if class.Cluster == "" {
		return nil, provider.Errorf(provider.Invalid, "the class names no cluster")
	}
	s := &session{class: class}
	if len(class.Spec) > 0 {
		made, err := p.specs.Get(class.API, class.Spec)
		if err != nil {
			return nil, err
		}
		s.plan = made
	}
	var err error
	if s.cluster, err = p.clusterOf(ctx, class.API); err != nil {
		return nil, err
	}
	s.source = s.cluster.key()
	s.access = access{provider: p, secret: relevant(class.Credentials), location: s.cluster.location}
	s.region = regionOf(s.plan, class, s.cluster)
	if s.plan != nil {
		s.names = s.plan.names
	}
	if s.region == "" && s.plan != nil {
		return nil, provider.InvalidField(regionNames[class.API], "an instance is made in a region")
	}
	if len(s.secret) == 0 {
		s.secret = class.Credentials
	}
	return s, nil
}

// regionNames are the fields of regions in specs.
var regionNames = map[string]string{provider.OpenShift: "placement.region", provider.Gardener: "region"}

// regionOf is the spec's region, or else that of another source.
func regionOf(p *plan, class provider.Class, c clusterConfig) string {
	said := ""
	if p != nil {
		said = p.region
	}
	return cmp.Or(said, class.Region, c.region)
}

// clusterOf reads the settings for machines of the API: those of one follow Infrastructure.
func (p *Provider) clusterOf(ctx context.Context, api string) (c clusterConfig, err error) {
	c.tags, c.endpoints = map[string]string{}, map[string]string{}
	if p.options.Endpoint != "" {
		for _, service := range services {
			c.endpoints[service] = p.options.Endpoint
		}
	}
	if api != provider.OpenShift || p.options.Objects == nil {
		return c, nil
	}
	i, err := infrastructure.Read(ctx, p.options.Objects)
	if err != nil || i == nil {
		return c, err
	}
	if c.ca, err = infrastructure.CloudCABundle(ctx, p.options.Objects); err != nil {
		return c, err
	}
	if i.Status.PlatformStatus == nil || i.Status.PlatformStatus.AWS == nil {
		return c, nil
	}
	says := i.Status.PlatformStatus.AWS
	c.region, c.stack.sixFirst = says.Region, says.IPFamily == configv1.DualStackIPv6Primary
	c.stack.dual = c.stack.sixFirst || says.IPFamily == configv1.DualStackIPv4Primary
	for _, e := range says.ServiceEndpoints {
		c.endpoints[e.Name] = e.URL
	}
	for _, t := range says.ResourceTags {
		c.tags[t.Key] = t.Value
	}
	return c, nil
}

// services are the called services.
var services = []string{"ec2", "elasticloadbalancing", "sts"}

// key identifies the settings.
func (c clusterConfig) key() provider.ClientKey {
	var parts [][]byte
	for _, m := range []map[string]string{c.endpoints, c.tags} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, []byte(k), []byte(m[k]))
		}
		parts = append(parts, nil)
	}
	parts = append(parts, c.ca)
	for _, has := range []bool{c.stack.dual, c.stack.sixFirst} {
		if has {
			parts = append(parts, []byte("IPv6"))
		}
	}
	return provider.KeyOf(nil, "", c.region, parts...)
}

// session is an open class.
type session struct {
	access
	class   provider.Class
	plan    *plan // nil: the class has lost its spec
	cluster clusterConfig
	source  provider.ClientKey
}

// access has the settings to call AWS for a class.
type access struct {
	provider *Provider
	secret   map[string][]byte
	// place has no region if nothing of the class names one.
	location
	// names are the spec's names for what AWS refuses; nil without a spec.
	names map[field]string
}

// on returns a client for the session's account, in the region of the spec or else of the call's object.
func (a *access) on(ctx context.Context, regions ...string) (*client, error) {
	where := a.location
	where.region = cmp.Or(append([]string{a.region}, regions...)...)
	if where.region == "" {
		return nil, provider.Errorf(provider.Transient, "the region is unknown: the class has no spec any more, and no other source names the region")
	}
	return a.provider.clients.Get(ctx, a.clientKey(where), func(ctx context.Context) (*client, error) {
		return newClient(ctx, a.provider.options.Clock, a.secret, where)
	})
}

func (a *access) clientKey(p location) provider.ClientKey {
	var endpoints strings.Builder
	for _, k := range slices.Sorted(maps.Keys(p.endpoints)) {
		endpoints.WriteString(k + "=" + p.endpoints[k] + "\n")
	}
	return provider.KeyOf(relevant(a.secret), endpoints.String(), p.region, p.ca)
}

// observe classifies the error of a call, and drops clients with invalid credentials.
func (a *access) observe(doing string, err error) error {
	if err == nil {
		return nil
	}
	return a.provider.clients.Observe(a.clientKey(a.location), classify(doing, err, a.names))
}

// lookup returns the lookup for requests.
func (s creator) lookup(c *client) lookup {
	return lookup{client: c, ask: s.observe, names: s.plan.names, stack: s.cluster.stack}
}

// The methods of a session are on types of their own, by subject. Each is the session.
type (
	ownership      struct{ *session } // the tags of the owner
	finder         struct{ *session } // searches for instances
	creator        struct{ *session } // creates an instance
	deleter        struct{ *session } // deletes instances
	dedicatedHosts struct{ *session }
	loadBalancers  struct{ *session }
)
