package cloud

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// zone is the region and the zone in the tags of a host, or of its parents.
type zone struct{ region, zone string }

// zonesOf finds the zones of the hosts of virtual machines: the nearest tags of the two categories that the
// cluster's configuration names. They are read once for all hosts.
func (s clusterConfig) zonesOf(ctx context.Context, c *conn, all []*vm) (map[ref]zone, error) {
	zones, unknown := map[ref]zone{}, []ref{}
	for _, v := range all {
		host := hostOf(v)
		if _, ok := zones[host]; ok || host.Value == "" {
			continue
		}
		z, err := remember(ctx, c.memo, zoneKey(s, host), func() (zone, error) { return zone{}, errUnknown })
		if zones[host] = z; err != nil {
			unknown = append(unknown, host)
		}
	}
	if len(unknown) == 0 {
		return zones, nil
	}
	above, err := parents(ctx, c, unknown)
	if err != nil {
		return nil, err
	}
	tagged, err := placeTags(ctx, c, above)
	if err != nil {
		return nil, err
	}
	for _, host := range unknown {
		z := nearest(host, above, tagged, s)
		zones[host] = z
		_, _ = remember(ctx, c.memo, zoneKey(s, host), func() (zone, error) { return z, nil })
	}
	return zones, nil
}

func zoneKey(s clusterConfig, host ref) string {
	return strings.Join([]string{"zone", s.region, s.zone, host.Value}, " ")
}

type unknownError struct{}

func (unknownError) Error() string { return "not known" }

var errUnknown = unknownError{}

// parents are those of hosts, and of their parents, up to the root.
func parents(ctx context.Context, c *conn, hosts []ref) (map[ref]ref, error) {
	no := false
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"parent"}}}}
	for _, h := range hosts {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: h, Skip: &no, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{
			SelectionSpec: types.SelectionSpec{Name: "parents"}, Type: "ManagedEntity", Path: "parent", Skip: &no,
			SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "parents"}},
		}}})
	}
	all := map[ref]ref{}
	for o, err := range c.collect(ctx, spec, 0) {
		if err != nil {
			return nil, err
		}
		all[o.Obj] = ref{}
		for _, p := range o.PropSet {
			if parent, ok := p.Val.(ref); ok {
				all[o.Obj] = parent
			}
		}
	}
	return all, nil
}

// placeTags are names of tags by category, of objects.
func placeTags(ctx context.Context, c *conn, of map[ref]ref) (map[ref]map[string]string, error) {
	var refs []mo.Reference
	for r := range of {
		refs = append(refs, r)
	}
	all := map[ref]map[string]string{}
	err := c.tags(ctx, func(m *tags.Manager) error {
		attached, err := m.ListAttachedTagsOnObjects(ctx, refs)
		if err != nil {
			return err
		}
		for _, a := range attached {
			names := map[string]string{}
			for _, id := range a.TagIDs {
				category, name, err := tagName(ctx, c, m, id)
				if err != nil {
					return err
				}
				names[category] = name
			}
			all[a.ObjectID.Reference()] = names
		}
		return nil
	})
	return all, err
}

func tagName(ctx context.Context, c *conn, m *tags.Manager, id string) (category, name string, err error) {
	said, err := remember(ctx, c.memo, "tag "+id, func() (said [2]string, err error) {
		tag, err := m.GetTag(ctx, id)
		if err != nil {
			return said, err
		}
		category, err := m.GetCategory(ctx, tag.CategoryID)
		if err != nil {
			return said, err
		}
		return [2]string{category.Name, tag.Name}, nil
	})
	return said[0], said[1], err
}

// nearest goes up from a host until both are found.
func nearest(at ref, parents map[ref]ref, tagged map[ref]map[string]string, s clusterConfig) (z zone) {
	for at.Value != "" && (z.region == "" || z.zone == "") {
		if z.region == "" && s.region != "" {
			z.region = tagged[at][s.region]
		}
		if z.zone == "" && s.zone != "" {
			z.zone = tagged[at][s.zone]
		}
		at = parents[at]
	}
	return z
}
