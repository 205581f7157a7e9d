package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.Initializer = &session{}
	_ provider.Comparer    = &session{}
)

// drift is what a living server lacks of the metadata and tags that its spec has by now.
type drift struct {
	metadata map[string]string
	tags     []string
}

func (d drift) any() bool { return len(d.metadata) > 0 || len(d.tags) > 0 }

// drifted compares. What a server has besides is left to it: other programs tag servers too.
func (p plan) drifted(v servers.Server) (d drift) {
	for key, value := range p.metadata {
		if v.Metadata[key] != value && !ours(key) {
			if d.metadata == nil {
				d.metadata = map[string]string{}
			}
			d.metadata[key] = value
		}
	}
	for _, t := range tidied(slices.Clone(p.tags)) {
		if !slices.Contains(tagsOf(v), t) {
			d.tags = append(d.tags, t)
		}
	}
	return d
}

func ours(key string) bool {
	return slices.Contains([]string{metaUID, metaNamespace, metaOwner, metaCluster}, key)
}

// Initialize implements [provider.Initializer]: it writes metadata and tags that the server lacks.
func (s *session) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	v, err := get(ctx, c, i.ID)
	if err != nil {
		return fmt.Errorf("look at server %s: %w", i.ID, s.observe(err))
	}
	if v == nil {
		return provider.Errorf(provider.Conflict, "server %s is gone", i.ID)
	}
	d := s.plan.drifted(*v)
	if len(d.metadata) > 0 {
		if _, err := servers.UpdateMetadata(ctx, c.compute, i.ID, servers.MetadataOpts(d.metadata)).Extract(); err != nil {
			return fmt.Errorf("write metadata of server %s of %s: %w", i.ID, ref.Name, s.observe(s.plan.blame(err)))
		}
	}
	if len(d.tags) > 0 {
		all := tidied(append(slices.Clone(tagsOf(*v)), d.tags...))
		if _, err := tags.ReplaceAll(ctx, c.compute, i.ID, tags.ReplaceAllOpts{Tags: all}).Extract(); err != nil {
			return fmt.Errorf("tag server %s of %s: %w", i.ID, ref.Name, s.observe(s.plan.blame(err)))
		}
	}
	return nil
}

// Differences implements [provider.Comparer] for what Nova shows of a server.
func (s scope) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	if s.bare {
		return nil
	}
	add := func(field, is, want string) {
		if is != "" && want != "" && is != want {
			out = append(out, fmt.Sprintf("%s: the server has %q, the spec says %q", s.plan.paths[field], is, want))
		}
	}
	if !looksLikeID.MatchString(s.plan.flavor) {
		add("flavor", i.Type, s.plan.flavor)
	}
	add("zone", i.Zone, s.plan.zone)
	return out
}
