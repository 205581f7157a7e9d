package cloud

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/millwright-dev/millwright/provider"
)

// volumeOrder is a volume to be created for a machine.
type volumeOrder struct {
	volumes.CreateOpts
	path string
}

// volumeOrders are the volumes of a machine, the boot volume first.
func (cr creator) volumeOrders(imageID string) (out []volumeOrder) {
	add := func(path, suffix string, size int, kind, zone, image string, users map[string]string) {
		name := cr.ref.Name
		if suffix != "" {
			name += "-" + suffix
		}
		metadata := marked(users, cr.of(cr.ref))
		metadata[metaOrder] = fmt.Sprintf("%d GiB %s %s %s", size, kind, zone, image)
		out = append(out, volumeOrder{path: path, CreateOpts: volumes.CreateOpts{
			Name: name, Size: size, VolumeType: kind, AvailabilityZone: zone, ImageID: image, Metadata: metadata,
			Description: "Made for machine " + cr.ref.Namespace + "/" + cr.ref.Name,
		}})
	}
	if r := cr.plan.root; r != nil && !r.byNova {
		add("rootVolume", r.suffix, r.size, r.kind, r.zone, imageID, r.metadata)
	}
	for n, d := range cr.plan.disks {
		if d.volume {
			add(fmt.Sprintf("additionalBlockDevices[%d]", n), d.name, d.size, d.kind, d.zone, "", nil)
		}
	}
	return out
}

// volumesReady creates the missing volumes of the machine, and returns the IDs by name once all can be
// attached. Until then it returns a Conflict: the engine calls again.
func (cr creator) volumesReady(ctx context.Context, imageID string) (map[string]string, error) {
	orders := cr.volumeOrders(imageID)
	if len(orders) == 0 {
		return nil, nil
	}
	cinder, err := cr.client.cinder()
	if err == nil && cinder == nil {
		err = provider.InvalidField(cr.plan.paths["disks"], "the cloud has no volumes")
	}
	if err != nil {
		return nil, err
	}
	there, err := cr.volumesThere(ctx, cinder)
	if err != nil {
		return nil, err
	}
	ids, waiting := map[string]string{}, ""
	for _, o := range orders {
		n := slices.IndexFunc(there, func(v volumes.Volume) bool { return v.Name == o.Name })
		if n < 0 {
			if _, err := volumes.Create(ctx, cinder, o, nil).Extract(); err != nil {
				return nil, zone{cinder, o.AvailabilityZone, provider.ScopeType}.closed(ctx, cr.blameVolume(o, err))
			}
			waiting = o.Name + " is being made"
			continue
		}
		v := there[n]
		was, known := v.Metadata[metaOrder]
		other := known && was != o.Metadata[metaOrder]
		switch v.Status {
		case "available":
			if other {
				if err := orGone(volumes.Delete(ctx, cinder, v.ID, nil).ExtractErr()); err != nil {
					return nil, fmt.Errorf("remove volume %s, which was made of another choice: %w", v.ID, classify(err))
				}
				waiting = o.Name + " is created again, because it was created for another choice"
				continue
			}
			ids[o.Name] = v.ID
		case "error":
			// Cinder does not report the cause. It is removed, so that the next try creates another.
			err := orGone(volumes.Delete(ctx, cinder, v.ID, nil).ExtractErr())
			if err != nil {
				return nil, fmt.Errorf("remove volume %s, which failed: %w", v.ID, classify(err))
			}
			return nil, provider.Errorf(provider.Transient, "volume %s (%s) ended in error: Cinder found no room for it, or could not copy the image", v.ID, v.Name)
		default:
			waiting = o.Name + " is " + v.Status
		}
	}
	if waiting != "" {
		return nil, &provider.Error{Kind: provider.Conflict, After: 5 * time.Second, Err: fmt.Errorf("waiting for volumes: %s", waiting)}
	}
	return ids, nil
}

// volumesThere are the usable volumes of the machine. Volumes that Cinder could not delete, and those of a
// deleted server, are left out and replaced by new ones.
func (cr creator) volumesThere(ctx context.Context, cinder *gophercloud.ServiceClient) (there []volumes.Volume, err error) {
	all, err := volumesOf(ctx, cinder, cr.of(cr.ref))
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		users, err := cr.serversOf(ctx, v)
		if err != nil {
			return nil, err
		}
		living := slices.ContainsFunc(users, func(s servers.Server) bool { return !isTerminated(s) })
		if v.Status != "error_deleting" && (living || len(v.Attachments) == 0) {
			there = append(there, v)
		}
	}
	return there, nil
}

// serversOf are the existing servers that have a volume, terminated or not.
func (c call) serversOf(ctx context.Context, v volumes.Volume) (all []servers.Server, err error) {
	for _, a := range v.Attachments {
		server, err := get(ctx, c.client, a.ServerID)
		if err != nil {
			return nil, err
		}
		if server != nil {
			all = append(all, *server)
		}
	}
	return all, nil
}

func isTerminated(s servers.Server) bool { return state(s) == provider.Terminated }

// blameVolume names the field that Cinder refused.
func (cr creator) blameVolume(o volumeOrder, err error) error {
	r, _ := answerOf(err)
	if r.own() && (r.status == http.StatusNotFound || kindOf(r) == provider.Invalid) {
		path := o.path
		if cr.class.API == provider.Gardener {
			path = "spec.rootDiskType"
		}
		return &provider.Error{Kind: provider.Invalid, Field: path, Err: r}
	}
	return fmt.Errorf("make volume %s: %w", o.Name, classify(err))
}

// volumesOf are those that were created for a machine.
func volumesOf(ctx context.Context, cinder *gophercloud.ServiceClient, o owned) (all []volumes.Volume, err error) {
	err = eachVolume(ctx, cinder, volumes.ListOpts{Metadata: map[string]string{metaUID: o.uid}}, func(v volumes.Volume) bool {
		if is := ownedByMetadata(v.Metadata); is.uid == o.uid && is.cluster == o.cluster {
			all = append(all, v)
		}
		return true
	})
	return all, err
}

func eachVolume(ctx context.Context, cinder *gophercloud.ServiceClient, o volumes.ListOpts, yield func(volumes.Volume) bool) error {
	err := volumes.List(cinder, o).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		all, err := volumes.ExtractVolumes(page)
		if err != nil {
			return false, err
		}
		for _, v := range all {
			if !yield(v) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("list volumes: %w", classify(err))
	}
	return nil
}

// blockDevices are the disks of a server; none if it only has the disk of its flavor.
func (cr creator) blockDevices(imageID string, ids map[string]string) (out []servers.BlockDevice) {
	volume := func(id, tag string, index int) servers.BlockDevice {
		return servers.BlockDevice{
			SourceType: servers.SourceVolume, DestinationType: servers.DestinationVolume, UUID: id, BootIndex: index, DeleteOnTermination: true, Tag: tag,
		}
	}
	switch r := cr.plan.root; {
	case r != nil && r.byNova:
		out = append(out, servers.BlockDevice{
			SourceType: servers.SourceImage, DestinationType: servers.DestinationVolume, UUID: imageID, VolumeSize: r.size, DeleteOnTermination: true,
		})
	case r != nil:
		name := cr.ref.Name
		if r.suffix != "" {
			name += "-" + r.suffix
		}
		root := volume(ids[name], "", 0)
		if cr.class.API == provider.Gardener { // as the original says it, without effect
			root.VolumeSize = r.size
		}
		out = append(out, root)
	case len(cr.plan.disks) > 0:
		out = append(out, servers.BlockDevice{
			SourceType: servers.SourceImage, DestinationType: servers.DestinationLocal, UUID: imageID, DeleteOnTermination: true,
		})
	}
	for _, d := range cr.plan.disks {
		if d.volume {
			out = append(out, volume(ids[cr.ref.Name+"-"+d.name], d.name, -1))
			continue
		}
		out = append(out, servers.BlockDevice{
			SourceType: servers.SourceBlank, DestinationType: servers.DestinationLocal, VolumeSize: d.size, BootIndex: -1, DeleteOnTermination: true, Tag: d.name,
		})
	}
	return out
}
