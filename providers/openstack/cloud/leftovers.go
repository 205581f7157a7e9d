package cloud

import (
	"context"
	"fmt"
	"iter"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.LeftoverLister = &session{}

// Leftovers implements [provider.LeftoverLister]: ports and volumes of machines that have no server.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		err = call{s, c}.leftovers(ctx, func(l provider.Leftover) bool { return yield(l, nil) })
		if err != nil {
			yield(provider.Leftover{}, fmt.Errorf("list what servers have left: %w", s.observe(err)))
		}
	}
}

func (c call) leftovers(ctx context.Context, yield func(provider.Leftover) bool) error {
	// Dependants first: an object that is created meanwhile has no server yet.
	found, err := c.dependants(ctx)
	if err != nil {
		return err
	}
	living := map[string]bool{}
	err = each(ctx, c.client, servers.ListOpts{TagsAny: tagOurs}, func(v servers.Server) bool {
		living[v.Metadata[metaUID]] = true
		return true
	})
	if err != nil {
		return err
	}
	for _, l := range found {
		if !living[l.UID] && !yield(l) {
			return nil
		}
	}
	return nil
}

// dependants are the ports and volumes of the class's cluster that no server has.
func (c call) dependants(ctx context.Context) (all []provider.Leftover, err error) {
	loose, _, err := c.client.listPorts(ctx, portQuery{"device_id": {""}})
	if err != nil {
		return nil, err
	}
	for _, p := range loose {
		o := ownedByMark(p.Description, p.Tags)
		ours := o.cluster == c.class.Cluster || o.cluster == "" && c.tagsOriginal(p.Tags)
		if o.uid == "" || !ours || p.DeviceID != "" {
			continue
		}
		all = append(all, provider.Leftover{Kind: "port", ID: p.ID, UID: o.uid, Owner: o.owner, Namespace: o.namespace})
	}
	cinder, err := c.client.cinder()
	if err != nil || cinder == nil {
		return all, err
	}
	err = eachVolume(ctx, cinder, volumes.ListOpts{}, func(v volumes.Volume) bool {
		if o := ownedByMetadata(v.Metadata); o.uid != "" && o.cluster == c.class.Cluster && len(v.Attachments) == 0 {
			all = append(all, provider.Leftover{Kind: "volume", ID: v.ID, UID: o.uid, Owner: o.owner, Namespace: o.namespace})
		}
		return true
	})
	return all, err
}
