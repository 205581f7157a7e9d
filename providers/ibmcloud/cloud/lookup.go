package cloud

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// lookup finds the resources that a spec names: IDs are needed to create an instance. Names are unique in the
// region, except for subnets and security groups, whose names are unique in a VPC.
type lookup struct{ *client }

// resources are the IDs of a spec's resources.
type resources struct {
	group, image, vpc, subnet, host string
	securityGroups                  []reference
}

// all resolves a spec, in the order of the original.
func (l lookup) all(ctx context.Context, p *plan) (r resources, err error) {
	if r.group, err = l.resourceGroup(ctx, "resourceGroup", p.ResourceGroup); err != nil {
		return r, err
	}
	network := r.group
	if name, field := p.networkGroup(); name != p.ResourceGroup {
		if network, err = l.resourceGroup(ctx, field, name); err != nil {
			return r, err
		}
	}
	if r.image, err = l.find(ctx, "image", p.Image, "images", "resource_group.id", r.group, "visibility", "private", "name", p.Image); err != nil {
		return r, err
	}
	if _, err = l.profile(ctx, p.Profile); err != nil {
		return r, err
	}
	if r.vpc, err = l.find(ctx, "vpc", p.VPC, "vpcs", "resource_group.id", network); err != nil {
		return r, err
	}
	if r.subnet, err = l.find(ctx, "primaryNetworkInterface.subnet", p.PrimaryNetworkInterface.Subnet, "subnets", "resource_group.id", network, "vpc.id", r.vpc); err != nil {
		return r, err
	}
	for _, name := range p.PrimaryNetworkInterface.SecurityGroups {
		id, err := l.find(ctx, "primaryNetworkInterface.securityGroups", name, "security_groups", "resource_group.id", r.group, "vpc.id", r.vpc)
		if err != nil {
			return r, err
		}
		if one := (reference{ID: id}); !slices.Contains(r.securityGroups, one) {
			r.securityGroups = append(r.securityGroups, one)
		}
	}
	if p.DedicatedHost != "" {
		r.host, err = l.find(ctx, "dedicatedHost", p.DedicatedHost, "dedicated_hosts", "resource_group.id", r.group, "zone.name", p.Zone)
	}
	return r, err
}

// find returns the ID of the resource with the name. field is the spec's, collection is VPC's name of the
// list. All resources of a listing are kept for later searches.
func (l lookup) find(ctx context.Context, field, name, collection string, filters ...string) (string, error) {
	scope := collection
	for i := 1; i < len(filters); i += 2 {
		scope += " " + filters[i]
	}
	return l.resolved.Get(ctx, scope+" "+name, func(ctx context.Context) (string, error) {
		all := pages[reference](ctx, l.client, collection, l.vpc(http.MethodGet, "/"+collection, filters...))
		return l.named(all, scope, field, name)
	})
}

func (l lookup) named(all iter.Seq2[reference, error], scope, field, name string) (id string, err error) {
	for one, err := range all {
		if err != nil {
			return "", classify("look for "+field+" "+name, err)
		}
		if one.Name == name && id == "" {
			id = one.ID
		} else {
			l.resolved.Put(scope+" "+one.Name, one.ID)
		}
	}
	if id == "" {
		return "", provider.InvalidField(field, "region %s has no %q where the spec says", l.region, name)
	}
	return id, nil
}

// resourceGroup is the ID of a resource group of the account.
func (l lookup) resourceGroup(ctx context.Context, field, name string) (string, error) {
	return l.resolved.Get(ctx, "resource group "+name, func(ctx context.Context) (string, error) {
		t, err := l.tokens.get(ctx)
		if err != nil {
			return "", err
		}
		var out struct {
			Resources []reference `json:"resources"`
		}
		query := url.Values{"account_id": {t.account}, "name": {name}}
		if err := l.call(ctx, request{method: http.MethodGet, url: l.endpoints.resources + "/v2/resource_groups", query: query}, &out); err != nil {
			return "", classify("look for resource group "+name, err)
		}
		if out.Resources == nil {
			return "", errNoList
		}
		for _, g := range out.Resources {
			if g.Name == name {
				return g.ID, nil
			}
		}
		return "", provider.InvalidField(field, "the account has no resource group %q", name)
	})
}

// profile is an instance profile.
func (l lookup) profile(ctx context.Context, name string) (*instanceProfile, error) {
	return l.profiles.Get(ctx, name, func(ctx context.Context) (*instanceProfile, error) {
		var out instanceProfile
		err := l.call(ctx, l.vpc(http.MethodGet, "/instance/profiles/"+url.PathEscape(name)), &out)
		switch {
		case is(err, http.StatusNotFound):
			return nil, provider.InvalidField("profile", "region %s has no instance profile %q", l.region, name)
		case err != nil:
			return nil, classify("look for instance profile "+name, err)
		case out.Name != name:
			return nil, errNoList
		}
		return &out, nil
	})
}
