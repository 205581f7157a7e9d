package cloud

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]: it deletes the servers first, and after their end the ports and
// volumes, which Nova keeps.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	done, err := deleter{call{s, c}, ref}.delete(ctx, instances)
	if err != nil {
		return false, fmt.Errorf("remove what was made for %s: %w", ref.Name, s.observe(err))
	}
	return done, nil
}

// deleter removes the objects of one machine.
type deleter struct {
	call
	ref provider.Ref
}

func (d deleter) delete(ctx context.Context, instances []provider.Instance) (bool, error) {
	left, err := d.deleteServers(ctx, instances)
	if err != nil || left > 0 {
		return false, err
	}
	if left, err := d.deletePorts(ctx, instances); err != nil || left > 0 {
		return false, err
	}
	if d.ref.UID == "" {
		return true, nil
	}
	return d.deleteVolumes(ctx)
}

// deleteServers deletes the given servers and those with ref's UID, and counts the remaining ones.
func (d deleter) deleteServers(ctx context.Context, instances []provider.Instance) (left int, err error) {
	there := map[string]servers.Server{}
	for _, i := range instances {
		v, err := get(ctx, d.client, i.ID)
		if err != nil {
			return 0, err
		}
		if v != nil {
			there[v.ID] = *v
		}
	}
	if d.ref.UID != "" {
		err := each(ctx, d.client, servers.ListOpts{Tags: tagUID + d.ref.UID}, func(v servers.Server) bool {
			if v.Metadata[metaUID] == d.ref.UID && d.owns(v.Metadata, tagsOf(v)) {
				there[v.ID] = v
			}
			return true
		})
		if err != nil {
			return 0, err
		}
	}
	for _, v := range there {
		if isTerminated(v) {
			continue
		}
		left++
		if err := d.deleteServer(ctx, v); err != nil {
			return left, err
		}
	}
	return left, nil
}

// deleteServer deletes a server, unless it was deleted a short while ago.
func (d deleter) deleteServer(ctx context.Context, v servers.Server) error {
	if state(v) == provider.Stopping && d.client.clock.Now().Sub(v.Updated) < askAgain {
		return nil
	}
	if err := orGone(servers.Delete(ctx, d.client.compute, v.ID).ExtractErr()); err != nil {
		return fmt.Errorf("delete server %s: %w", v.ID, classify(err))
	}
	return nil
}

// askAgain is how long a server may be under deletion before the provider deletes it again. Nova passes a
// deletion to the server's host, if the host has reported within the last minute. If the host is dead, the
// server stays in deletion forever, unless the deletion is repeated: by then Nova knows that the host is
// dead, and removes the server by itself. If the host is alive, Nova ignores the repetition.
const askAgain = 2 * time.Minute

// deletePorts removes the ports of ref, and those that only the instances use. It counts the ports that a
// server still has.
func (d deleter) deletePorts(ctx context.Context, instances []provider.Instance) (left int, err error) {
	loose, _, err := d.client.listPorts(ctx, portQuery{"device_id": {""}})
	if err != nil {
		return 0, err
	}
	loose = slices.DeleteFunc(loose, func(p ports.Port) bool { return p.DeviceID != "" })
	if d.ref.UID != "" {
		// Ports that are bound to a server that no longer exists.
		finished, _, err := d.client.listPorts(ctx, portQuery{"tags": {tagUID + d.ref.UID}})
		if err != nil {
			return 0, err
		}
		loose = append(loose, finished...)
	}
	gone := map[string]bool{}
	for _, p := range loose {
		if gone[p.ID] || !d.portIs(p, d.ref.UID) && !d.portWas(p, instances) {
			continue
		}
		gone[p.ID] = true
		used, err := d.plugged(ctx, p)
		if err != nil {
			return 0, err
		}
		if used {
			left++
			continue
		}
		if err := d.client.deletePort(ctx, p.ID); err != nil {
			return 0, err
		}
		d.provider.created.drop(p.ID)
	}
	return left, nil
}

// plugged deletes the server that has a port, and reports whether there is one: listings lack servers whose
// cell is down. A server that the port was not created for keeps the port.
func (d deleter) plugged(ctx context.Context, p ports.Port) (bool, error) {
	v, err := d.boundTo(ctx, p)
	switch {
	case err != nil || v == nil:
		return false, err
	case tagged(p.Tags, tagServer) != v.ID:
		return false, provider.Errorf(provider.Conflict, "port %s (%s) is plugged into server %s (%s): take it out there", p.ID, p.Name, v.ID, v.Name)
	}
	return true, d.deleteServer(ctx, *v)
}

// portWas reports whether a port belonged to one of the instances alone: it has the instance's tag, or the
// name and tags of the original.
func (s scope) portWas(p ports.Port, instances []provider.Instance) bool {
	if server := tagged(p.Tags, tagServer); server != "" {
		return slices.ContainsFunc(instances, func(i provider.Instance) bool { return i.ID == server })
	}
	if ownedByMark(p.Description, p.Tags).uid != "" || !s.tagsOriginal(p.Tags) {
		return false
	}
	return slices.ContainsFunc(instances, func(i provider.Instance) bool {
		return i.Name != "" && (p.Name == i.Name || numbered(p.Name, i.Name) || s.plan.named(p.Name, i.Name))
	})
}

// tagsOriginal reports whether the tags are the original's for the class's cluster.
func (s scope) tagsOriginal(tags []string) bool {
	if s.class.API == provider.OpenShift {
		return slices.Contains(tags, originalNamespace+"-"+s.class.Cluster) || slices.Contains(tags, "openshiftClusterID="+s.class.Cluster)
	}
	return !slices.ContainsFunc(s.owning(), func(key string) bool {
		return !slices.ContainsFunc(tags, func(t string) bool { return t == key || strings.HasPrefix(t, key+"=") })
	})
}

// numbered reports whether a name is another with a number behind it: m-1 has m-1-0, and m-1-0 does not
// belong to m.
func numbered(name, of string) bool {
	rest, ok := strings.CutPrefix(name, of+"-")
	_, err := strconv.Atoi(rest)
	return ok && err == nil
}

// named reports whether a port has one of the names of the plan.
func (p plan) named(name, of string) bool {
	return slices.ContainsFunc(p.ports, func(p portPlan) bool { return p.portName(of) == name })
}

// passing are the volume states that end by themselves.
var passing = map[string]bool{"creating": true, "downloading": true, "deleting": true, "detaching": true, "attaching": true}

// deleteVolumes removes the volumes of ref. Cinder deletes asynchronously: it is done once no volume
// exists.
func (d deleter) deleteVolumes(ctx context.Context) (done bool, err error) {
	cinder, err := d.client.cinder()
	if err != nil || cinder == nil {
		return err == nil, err
	}
	all, err := volumesOf(ctx, cinder, d.of(d.ref))
	if err != nil {
		return false, err
	}
	left := 0
	for _, v := range all {
		users, err := d.serversOf(ctx, v)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(users, isTerminated) {
			continue // the server can be restored (reclaim_instance_interval): Nova deletes the volume with it
		}
		left++
		if passing[v.Status] {
			continue
		}
		err = orGone(volumes.Delete(ctx, cinder, v.ID, nil).ExtractErr())
		if refusal, _ := answerOf(err); refusal != nil && refusal.status == http.StatusBadRequest {
			// A user has to act: a volume that stays reserved, or has snapshots, is never deleted by
			// itself.
			return false, provider.Errorf(provider.Conflict, "volume %s (%s) is %s, and cannot be removed: %w", v.ID, v.Name, v.Status, refusal)
		}
		if err != nil {
			return false, fmt.Errorf("remove volume %s: %w", v.ID, classify(err))
		}
	}
	return left == 0, nil
}
