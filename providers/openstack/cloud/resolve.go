package cloud

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/millwright-dev/millwright/provider"
)

// Names are looked up once a minute for all machines (see lookup). A missing object is not cached: it may
// be created.

var looksLikeID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$`)

// flavor finds a flavor by name, or by ID.
func (c *client) flavor(ctx context.Context, path, name string) (flavors.Flavor, error) {
	all, err := lookup(ctx, c, "flavors", func(ctx context.Context) ([]flavors.Flavor, error) {
		pages, err := flavors.ListDetail(c.compute, flavors.ListOpts{AccessType: flavors.AllAccess}).AllPages(ctx)
		if err != nil {
			return nil, fmt.Errorf("list flavors: %w", classify(err))
		}
		return flavors.ExtractFlavors(pages)
	})
	if err != nil {
		return flavors.Flavor{}, err
	}
	for _, by := range []func(flavors.Flavor) bool{
		func(f flavors.Flavor) bool { return f.Name == name },
		func(f flavors.Flavor) bool { return f.ID == name },
	} {
		if n := slices.IndexFunc(all, by); n >= 0 {
			return all[n], nil
		}
	}
	// A flavor that is not public may be used by its ID.
	f, err := flavors.Get(ctx, c.compute, name).Extract()
	switch {
	case isGone(err):
		return flavors.Flavor{}, provider.InvalidField(path, "there is no flavor %q", name)
	case err != nil:
		return flavors.Flavor{}, fmt.Errorf("look for flavor %q: %w", name, classify(err))
	}
	return *f, nil
}

// imageOf finds an image: by ID, or by name.
func (c *client) imageOf(ctx context.Context, path string, i image) (images.Image, error) {
	return lookup(ctx, c, "image "+i.id+" "+i.name, func(ctx context.Context) (images.Image, error) {
		glance, err := c.glance()
		if err != nil {
			return images.Image{}, err
		}
		if i.id == "" {
			all, err := imagesCalled(ctx, glance, i.name)
			switch {
			case err != nil:
				return images.Image{}, err
			case len(all) > 1:
				return images.Image{}, provider.InvalidField(path, "%d images are called %q: name one by its ID, or remove the others", len(all), i.name)
			case len(all) == 1:
				return usable(path, all[0])
			case !looksLikeID.MatchString(i.name):
				return images.Image{}, provider.InvalidField(path, "there is no image %q", i.name)
			}
			i.id = i.name
		}
		found, err := images.Get(ctx, glance, i.id).Extract()
		switch {
		case noImage(err):
			return images.Image{}, provider.InvalidField(path, "there is no image %q", i.id)
		case err != nil:
			return images.Image{}, fmt.Errorf("look for image %q: %w", i, classify(err))
		}
		return usable(path, *found)
	})
}

// imagesCalled returns the usable images of a name, or all if none is usable.
func imagesCalled(ctx context.Context, glance *gophercloud.ServiceClient, name string) ([]images.Image, error) {
	pages, err := images.List(glance, images.ListOpts{Name: name}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for image %q: %w", name, classify(err))
	}
	all, err := images.ExtractImages(pages)
	if err != nil {
		return nil, fmt.Errorf("look for image %q: %w", name, classify(err))
	}
	active := slices.DeleteFunc(slices.Clone(all), func(i images.Image) bool { return i.Status != images.ImageStatusActive })
	if len(active) > 0 {
		return active, nil
	}
	return all, nil
}

// coming are the statuses of images whose upload is in progress.
var coming = map[images.ImageStatus]bool{"queued": true, "saving": true, "uploading": true, "importing": true}

// usable returns an image, or an error if Nova would refuse it: the machine waits for one whose upload is
// in progress.
func usable(path string, i images.Image) (images.Image, error) {
	switch {
	case coming[i.Status]:
		return i, provider.Errorf(provider.Conflict, "%s: image %s (%s) is %s", path, i.ID, i.Name, i.Status)
	case i.Status != images.ImageStatusActive:
		return i, provider.InvalidField(path, "image %s (%s) is %s", i.ID, i.Name, i.Status)
	}
	return i, nil
}

// network is a network of Neutron.
type network struct {
	networks.Network
	external.NetworkExternalExt
}

// networkOf is the ID of the one network that a query selects, or that of the subnet if the query is empty.
func (c *client) networkOf(ctx context.Context, p portPlan) (string, error) {
	switch {
	case p.network.id != "":
		return p.network.id, nil
	case p.network.empty() && len(p.fixed) > 0:
		s, err := c.subnetOf(ctx, p.fixed[0], "")
		return s.NetworkID, err
	}
	q := p.network
	all, err := lookup(ctx, c, fmt.Sprintf("network %+v", q), func(ctx context.Context) ([]networks.Network, error) {
		pages, err := networks.List(c.network, networks.ListOpts{
			Name: q.name, Description: q.description, ProjectID: q.project, Tags: q.tags, TagsAny: q.tagsAny, NotTags: q.notTags, NotTagsAny: q.notTagsAny,
		}).AllPages(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for networks: %w", classify(err))
		}
		return networks.ExtractNetworks(pages)
	})
	if err != nil {
		return "", err
	}
	if err := one(p.path, "network", len(all)); err != nil {
		return "", err
	}
	return all[0].ID, nil
}

// one checks that exactly one was found.
func one(path, what string, found int) error {
	switch found {
	case 0:
		return provider.InvalidField(path, "no %s is what it asks for", what)
	case 1:
		return nil
	}
	return provider.InvalidField(path, "%d %ss are what it asks for, and one must be", found, what)
}

// soleNetwork is the project's only network, for specs that name none.
func (c *client) soleNetwork(ctx context.Context, path string) (string, error) {
	all, err := lookup(ctx, c, "networks", func(ctx context.Context) ([]network, error) {
		pages, err := networks.List(c.network, nil).AllPages(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for networks: %w", classify(err))
		}
		var all []network
		if err := networks.ExtractNetworksInto(pages, &all); err != nil {
			return nil, fmt.Errorf("look for networks: %w", err)
		}
		return slices.DeleteFunc(all, func(n network) bool { return n.External }), nil
	})
	if err != nil {
		return "", err
	}
	if len(all) != 1 {
		return "", provider.InvalidField(path, "none is named, and the project has %d: name one", len(all))
	}
	return all[0].ID, nil
}

// subnetOf is the one subnet of an address. A subnet named by ID is used without a lookup, if the network
// is known.
func (c *client) subnetOf(ctx context.Context, a addressPlan, network string) (subnets.Subnet, error) {
	if a.subnet.id != "" && network != "" {
		return subnets.Subnet{ID: a.subnet.id, NetworkID: network}, nil
	}
	q := a.subnet
	all, err := lookup(ctx, c, fmt.Sprintf("subnet %s %+v", network, q), func(ctx context.Context) ([]subnets.Subnet, error) {
		pages, err := subnets.List(c.network, subnets.ListOpts{
			ID: q.id, Name: q.name, Description: q.description, NetworkID: network, ProjectID: q.project, IPVersion: q.version, GatewayIP: q.gateway,
			CIDR: q.cidr, IPv6AddressMode: q.addressMode, IPv6RAMode: q.raMod, Tags: q.tags, TagsAny: q.tagsAny, NotTags: q.notTags, NotTagsAny: q.notTagsAny,
		}).AllPages(ctx)
		if err != nil {
			return nil, fmt.Errorf("look for subnets: %w", classify(err))
		}
		return subnets.ExtractSubnets(pages)
	})
	if err != nil {
		return subnets.Subnet{}, err
	}
	if err := one(a.path, "subnet", len(all)); err != nil {
		return subnets.Subnet{}, err
	}
	return all[0], nil
}

// groupsOf are the IDs of security groups. A query may select several, and all of them are used.
func (c *client) groupsOf(ctx context.Context, queries []groupQuery) (ids []string, err error) {
	for _, q := range queries {
		if q.id != "" {
			ids = append(ids, q.id)
			continue
		}
		found, err := lookup(ctx, c, fmt.Sprintf("group %+v", q.query), func(ctx context.Context) ([]groups.SecGroup, error) {
			return c.listGroups(ctx, groups.ListOpts{
				Name: q.name, Description: q.description, ProjectID: q.project, Tags: q.tags, TagsAny: q.tagsAny, NotTags: q.notTags, NotTagsAny: q.notTagsAny,
			})
		})
		switch {
		case err != nil:
			return nil, err
		case len(found) == 0 && q.either && looksLikeID.MatchString(q.name):
			ids = append(ids, q.name)
			continue
		case len(found) == 0:
			return nil, provider.InvalidField(q.path, "no security group is what it asks for")
		}
		for _, g := range ownFirst(c.project, q.query, found) {
			ids = append(ids, g.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// ownFirst leaves out the groups of other projects with the same name or tags, if the project has its own:
// administrators see the groups of all, and every project has one that is called default.
func ownFirst(project string, q query, found []groups.SecGroup) []groups.SecGroup {
	own := slices.DeleteFunc(slices.Clone(found), func(g groups.SecGroup) bool { return g.ProjectID != project })
	if q.project != "" || len(own) == 0 {
		return found
	}
	return own
}

func (c *client) listGroups(ctx context.Context, o groups.ListOpts) ([]groups.SecGroup, error) {
	pages, err := groups.List(c.network, o).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for security groups: %w", classify(err))
	}
	return groups.ExtractGroups(pages)
}

// serverGroup is the ID of the server group: the named one, which is created if it does not exist.
func (c *client) serverGroup(ctx context.Context, p plan) (string, error) {
	if p.groupName == "" {
		return p.groupID, nil
	}
	id, err := lookup(ctx, c, "servergroup "+p.groupName, func(ctx context.Context) (string, error) { return c.createServerGroup(ctx, p.groupName) })
	if err == nil && p.groupID != "" && p.groupID != id {
		err = provider.InvalidField(p.paths["group"], "%s is not the group that is called %q", p.groupID, p.groupName)
	}
	return id, err
}

func (c *client) createServerGroup(ctx context.Context, name string) (string, error) {
	pages, err := servergroups.List(c.compute, nil).AllPages(ctx)
	if err != nil {
		return "", fmt.Errorf("look for server groups: %w", classify(err))
	}
	all, err := servergroups.ExtractServerGroups(pages)
	if err != nil {
		return "", fmt.Errorf("look for server groups: %w", classify(err))
	}
	for _, g := range all {
		if g.Name == name {
			return g.ID, nil
		}
	}
	g, err := servergroups.Create(ctx, c.compute, servergroups.CreateOpts{Name: name, Policies: []string{"soft-anti-affinity"}}).Extract()
	if err != nil {
		return "", fmt.Errorf("make server group %q: %w", name, classify(err))
	}
	return g.ID, nil
}
