package cloud

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// microversion is the first one in which servers are created with tags, show their flavors, and let disks
// be named.
const microversion = "2.53"

// client is a token, with the services that it gives access to.
type client struct {
	compute, network *gophercloud.ServiceClient
	// project is the account's ID, region that of the catalog.
	project, region string

	provider *gophercloud.ProviderClient
	endpoint gophercloud.EndpointOpts
	clock    provider.Clock
	// looked caches name lookups for a minute, for all machines.
	looked *kit.Memo[any]
	// recalled: a cached answer was used since the cache was last cleared.
	recalled atomic.Bool
	// schemes are the URL schemes of the services.
	schemes *pinnedEndpoint
	// volumes and images are opened on first use: a cloud may not have them.
	volumes, images opened
	// chosen records in which networks MAC addresses may not be chosen.
	chosen sync.Map
}

// opened is a service after its first use.
type opened struct {
	mu      sync.Mutex
	service *gophercloud.ServiceClient
}

func (o *opened) get(open func() (*gophercloud.ServiceClient, error)) (*gophercloud.ServiceClient, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.service != nil {
		return o.service, nil
	}
	service, err := open()
	if err == nil {
		o.service = service
	}
	return service, err
}

// connect requests a token from Keystone.
func connect(ctx context.Context, l login, clock provider.Clock) (*client, error) {
	p, err := openstack.NewClient(l.auth.IdentityEndpoint)
	if err != nil {
		return nil, provider.Errorf(provider.Denied, "the URL of Keystone: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // Of the standard library.
	transport.TLSClientConfig = l.tls
	schemes := &pinnedEndpoint{next: transport}
	p.HTTPClient = http.Client{Transport: schemes, Timeout: 2 * time.Minute}
	p.UserAgent.Prepend("millwright")
	if err := openstack.Authenticate(ctx, p, l.auth); err != nil {
		return nil, fmt.Errorf("ask Keystone for a token: %w", atLogin(err))
	}
	anywhere(p)
	c := &client{
		provider: p, endpoint: l.endpoint, region: l.endpoint.Region, clock: clock, schemes: schemes,
		looked: kit.NewMemo[any](clock, time.Minute),
	}
	if c.project, err = projectOf(p.GetAuthResult()); err != nil {
		return nil, err
	}
	if c.compute, err = openstack.NewComputeV2(p, l.endpoint); err != nil {
		return nil, c.noService("compute", err)
	}
	c.compute.Microversion = microversion
	if c.network, err = openstack.NewNetworkV2(p, l.endpoint); err != nil {
		return nil, c.noService("network", err)
	}
	schemes.keep(c.compute.Endpoint, c.network.Endpoint)
	return c, nil
}

// endpointsOf returns the endpoints of the services of some types, for an interface.
func endpointsOf(result gophercloud.AuthResult, types []string, of gophercloud.Availability) (all []tokens.Endpoint) {
	token, ok := result.(interface {
		ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
	})
	if !ok {
		return nil
	}
	catalog, err := token.ExtractServiceCatalog()
	if err != nil {
		return nil
	}
	for _, s := range catalog.Entries {
		for _, e := range s.Endpoints {
			if slices.Contains(types, s.Type) && e.Interface == string(of) {
				all = append(all, e)
			}
		}
	}
	return all
}

// anywhere uses endpoints that Keystone lists without a region, if a service has none in the requested
// region.
func anywhere(p *gophercloud.ProviderClient) {
	locate := p.EndpointLocator
	p.EndpointLocator = func(o gophercloud.EndpointOpts) (string, error) {
		url, err := locate(o)
		if !isNoEndpoint(err) {
			return url, err
		}
		for _, e := range endpointsOf(p.GetAuthResult(), o.Types(), o.Availability) {
			if e.Region == "" && e.RegionID == "" {
				return gophercloud.NormalizeURL(e.URL), nil
			}
		}
		return url, err
	}
}

// projectOf returns the ID of a token's project.
func projectOf(result gophercloud.AuthResult) (string, error) {
	token, ok := result.(interface {
		ExtractProject() (*tokens.Project, error)
	})
	if !ok {
		return "", provider.Errorf(provider.Denied, "the credentials open no project: Keystone's answer is not that of its API v3")
	}
	project, err := token.ExtractProject()
	if err != nil {
		return "", fmt.Errorf("read Keystone's answer: %w", err)
	}
	if project == nil || project.ID == "" {
		return "", provider.Errorf(provider.Denied, "the credentials open no project: name one (project_name or project_id in clouds.yaml, tenantName or tenantID)")
	}
	return project.ID, nil
}

// noService is the error for a service that cannot be opened.
func (c *client) noService(kind string, err error) error {
	if isNoEndpoint(err) {
		others := []string{}
		for _, e := range endpointsOf(c.provider.GetAuthResult(), []string{kind}, cmp.Or(c.endpoint.Availability, gophercloud.AvailabilityPublic)) {
			others = append(others, strconv.Quote(cmp.Or(e.Region, e.RegionID)))
		}
		return provider.Errorf(provider.Invalid, "the cloud has no %s service in region %q for interface %q; its catalog has it in: %s", kind, c.region, c.endpoint.Availability, cmp.Or(strings.Join(others, ", "), "no region"))
	}
	return fmt.Errorf("open the %s service: %w", kind, classify(err))
}

// cinder returns the volume service; nil if the cloud has none.
func (c *client) cinder() (*gophercloud.ServiceClient, error) {
	service, err := c.volumes.get(func() (*gophercloud.ServiceClient, error) {
		return openstack.NewBlockStorageV3(c.provider, c.endpoint)
	})
	switch {
	case isNoEndpoint(err):
		return nil, nil //nolint:nilnil // It has none.
	case err != nil:
		return nil, c.noService("volume", err)
	}
	c.schemes.keep(service.Endpoint)
	return service, nil
}

func (c *client) glance() (*gophercloud.ServiceClient, error) {
	service, err := c.images.get(func() (*gophercloud.ServiceClient, error) {
		return openstack.NewImageV2(c.provider, c.endpoint)
	})
	if err != nil {
		return nil, c.noService("image", err)
	}
	c.schemes.keep(service.Endpoint)
	return service, nil
}

// lookup returns the result of load for the key, cached for a minute. Errors are not cached.
func lookup[T any](ctx context.Context, c *client, key string, load func(context.Context) (T, error)) (T, error) {
	asked := false
	v, err := kit.GetAs(ctx, c.looked, key, func(ctx context.Context) (T, error) {
		asked = true
		return load(ctx)
	})
	if err == nil && !asked {
		c.recalled.Store(true)
	}
	return v, err
}

// forget clears the cache, and reports whether another lookup may have another result.
func (c *client) forget() bool {
	if !c.recalled.Swap(false) {
		return false
	}
	c.looked.ForgetAll()
	return true
}

// connect returns the client for the class's credentials.
func (s *session) connect(ctx context.Context) (*client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := loginOf(s.class.Credentials, s.plan.cloud, s.region(), s.ca)
	if err != nil {
		return nil, err
	}
	c, err := s.provider.clients.Get(ctx, s.key(), func(ctx context.Context) (*client, error) {
		return connect(ctx, l, s.provider.config.Clock)
	})
	return c, s.observe(err)
}

// region is the region of the spec, or else that of the class.
func (s scope) region() string {
	if s.plan.region != "" {
		return s.plan.region
	}
	return s.class.Region
}

func (s *session) key() provider.ClientKey {
	return provider.KeyOf(s.class.Credentials, s.plan.cloud, s.region(), s.ca)
}

// observe drops the client if it was denied.
func (s *session) observe(err error) error { return s.provider.clients.Observe(s.key(), err) }
