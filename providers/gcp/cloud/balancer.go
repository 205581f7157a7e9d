package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"github.com/millwright-dev/millwright/provider"
)

// controlPlaneRole is the role of machines that load balancers of the API server have as members.
const controlPlaneRole = "master"

// controlPlane reports whether an instance belongs to the control plane: by our label or, for one of the
// original, by the network tags of the installer.
func (s *scope) controlPlane(i provider.Instance) bool {
	if s.class.API != provider.OpenShift {
		return false
	}
	return i.Tags[roleLabel] == controlPlaneRole ||
		i.UID == "" && (tagged(i, s.class.Cluster+"-master") || tagged(i, s.class.Cluster+"-control-plane"))
}

// groupName is that of the control plane's instances in a zone; service that of the backend service that has the groups.
func (b balancer) groupName(zone string) string {
	return b.class.Cluster + "-" + controlPlaneRole + "-" + zone
}

func (b balancer) service() string { return b.class.Cluster + "-api-internal" }

// pathOf is the part of a link that names an object, without the API's address.
func pathOf(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}

func (b balancer) instancePath(zone, name string) string {
	return "projects/" + b.project + "/zones/" + zone + "/instances/" + name
}

func (b balancer) groupPath(zone string) string {
	return "projects/" + b.project + "/zones/" + zone + "/instanceGroups/" + b.groupName(zone)
}

// balancer manages the membership of instances in the load balancers of the control plane.
type balancer struct{ *caller }

// concerns reports whether there may be load balancers that an instance should be a member of.
func (b balancer) concerns(i provider.Instance) bool {
	return len(b.template.pools()) > 0 || b.controlPlane(i)
}

// register adds an instance to the load balancers that should have it, if it is missing.
func (b balancer) register(ctx context.Context, i provider.Instance) (err error) {
	for _, pool := range b.template.pools() {
		err = errors.Join(err, b.enterPool(ctx, i, pool))
	}
	if b.controlPlane(i) {
		err = errors.Join(err, b.enterGroup(ctx, i))
	}
	return err
}

// poolMembers are those of a pool, by their paths. A pool has instances of its region only.
func (b balancer) poolMembers(ctx context.Context, region, pool string) (all []string, err error) {
	p, err := b.client.compute.TargetPools.Get(b.project, region, pool).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	return paths(p.Instances), nil
}

func paths(links []string) []string {
	out := make([]string, len(links))
	for n, l := range links {
		out[n] = pathOf(l)
	}
	return out
}

// groupMembers are those of the group of a zone, by their paths.
func (b balancer) groupMembers(ctx context.Context, zone string) (all []string, err error) {
	call := b.client.compute.InstanceGroups.ListInstances(b.project, zone, b.groupName(zone), &compute.InstanceGroupsListInstancesRequest{})
	err = call.Pages(ctx, func(page *compute.InstanceGroupsListInstances) error {
		for _, i := range page.Items {
			all = append(all, pathOf(i.Instance))
		}
		return nil
	})
	return all, err
}

// missing is the error of an operation on an instance that does not exist.
func (c *caller) missing(ctx context.Context, err error, name string) error {
	if gone(err) {
		return provider.Errorf(provider.Conflict, "there is no instance %s", name)
	}
	return c.observed(ctx, err, "ask for instance %s", name)
}

func (b balancer) enterPool(ctx context.Context, i provider.Instance, pool string) error {
	path := b.instancePath(i.Zone, i.NodeName)
	members, err := b.poolMembers(ctx, i.Region, pool)
	if err == nil && !slices.Contains(members, path) {
		_, err = b.client.compute.TargetPools.AddInstance(b.project, i.Region, pool, &compute.TargetPoolsAddInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
	}
	return b.observed(ctx, err, "add instance %s to target pool %s", i.NodeName, pool)
}

// enterGroup adds the instance to the control plane's group in its zone, and that group to the backend
// service; without the service it does nothing.
func (b balancer) enterGroup(ctx context.Context, i provider.Instance) error {
	service, err := b.client.compute.RegionBackendServices.Get(b.project, i.Region, b.service()).Context(ctx).Do()
	if gone(err) {
		return nil
	}
	if err != nil {
		return b.observed(ctx, err, "ask for backend service %s", b.service())
	}
	if err := b.joinGroup(ctx, i); err != nil {
		return err
	}
	if slices.ContainsFunc(service.Backends, func(of *compute.Backend) bool { return pathOf(of.Group) == b.groupPath(i.Zone) }) {
		return nil
	}
	service.Backends = append(service.Backends, &compute.Backend{BalancingMode: "CONNECTION", Group: host + b.groupPath(i.Zone)})
	_, err = b.client.compute.RegionBackendServices.Update(b.project, i.Region, b.service(), service).Context(ctx).Do()
	return b.observed(ctx, err, "add instance group %s to backend service %s", b.groupName(i.Zone), b.service())
}

// joinGroup adds the instance to its zone's group, and creates a missing group.
func (b balancer) joinGroup(ctx context.Context, i provider.Instance) error {
	group, path := b.groupName(i.Zone), b.instancePath(i.Zone, i.NodeName)
	members, err := b.groupMembers(ctx, i.Zone)
	if gone(err) {
		err = b.makeGroup(ctx, i)
	}
	if err != nil {
		return b.observed(ctx, err, "ask for instance group %s", group)
	}
	if slices.Contains(members, path) {
		return nil
	}
	_, err = b.client.compute.InstanceGroups.AddInstances(b.project, i.Zone, group, &compute.InstanceGroupsAddInstancesRequest{
		Instances: []*compute.InstanceReference{{Instance: host + path}},
	}).Context(ctx).Do()
	if because(err, "memberAlreadyExists") {
		return nil
	}
	return b.observed(ctx, err, "add instance %s to instance group %s", i.NodeName, group)
}

// makeGroup creates the group of the instance's zone, in the network of the instance.
func (b balancer) makeGroup(ctx context.Context, i provider.Instance) error {
	is, err := b.client.compute.Instances.Get(b.project, i.Zone, i.NodeName).Context(ctx).Do()
	if err != nil {
		return b.missing(ctx, err, i.NodeName)
	}
	group := &compute.InstanceGroup{Name: b.groupName(i.Zone)}
	if len(is.NetworkInterfaces) > 0 {
		group.Network, group.Subnetwork = is.NetworkInterfaces[0].Network, is.NetworkInterfaces[0].Subnetwork
	}
	_, err = b.client.compute.InstanceGroups.Insert(b.project, i.Zone, group).Context(ctx).Do()
	if taken(err) {
		return nil
	}
	return b.observed(ctx, err, "make instance group %s", group.Name)
}

// because reports whether an answer has this reason.
func because(err error, why string) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && reason(e) == why
}

// deregister removes an instance from its load balancers before its deletion.
func (b balancer) deregister(ctx context.Context, i provider.Instance) error {
	path := b.instancePath(i.Zone, i.NodeName)
	for _, pool := range b.template.pools() {
		if err := b.leavePool(ctx, i.Region, pool, func(member string) bool { return member == path }); err != nil {
			return err
		}
	}
	if !b.controlPlane(i) {
		return nil
	}
	members, err := b.groupMembers(ctx, i.Zone)
	if err == nil && slices.Contains(members, path) {
		_, err = b.client.compute.InstanceGroups.RemoveInstances(b.project, i.Zone, b.groupName(i.Zone), &compute.InstanceGroupsRemoveInstancesRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
	}
	if gone(err) || because(err, "memberNotFound") {
		return nil
	}
	return b.observed(ctx, err, "remove instance %s from instance group %s", i.NodeName, b.groupName(i.Zone))
}

// leavePool removes the given members, by their paths, from a target pool.
func (b balancer) leavePool(ctx context.Context, region, pool string, goes func(path string) bool) error {
	members, err := b.poolMembers(ctx, region, pool)
	if gone(err) {
		return nil
	}
	if err != nil {
		return b.observed(ctx, err, "ask for target pool %s", pool)
	}
	for _, path := range members {
		if !goes(path) {
			continue
		}
		_, err = b.client.compute.TargetPools.RemoveInstance(b.project, region, pool, &compute.TargetPoolsRemoveInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
		if err != nil && !gone(err) {
			return b.observed(ctx, err, "remove instance %s from target pool %s", tail(path), pool)
		}
	}
	return nil
}

// forget removes names of deleted instances from target pools, in any zone: pools keep those of instances
// that another client removed.
func (b balancer) forget(ctx context.Context, ref provider.Ref) error {
	pools := b.template.pools()
	if len(pools) == 0 {
		return nil
	}
	v, err := b.look(ctx, provider.Ref{Name: ref.Name})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for at := range v.taken {
		zone, name, _ := strings.Cut(at, "/")
		there[b.instancePath(zone, name)] = true
	}
	for _, i := range v.of {
		there[b.instancePath(i.Zone, i.NodeName)] = true
	}
	stale := func(path string) bool {
		name := tail(path)
		return (name == ref.Name || name == b.spare(ref)) && path == b.instancePath(zoneIn(path), name) && !there[path]
	}
	region, _, _ := b.template.where()
	for _, pool := range pools {
		if err := b.leavePool(ctx, region, pool, stale); err != nil {
			return err
		}
	}
	return nil
}

// zoneIn is the zone in the path of an instance.
func zoneIn(path string) string {
	_, rest, _ := strings.Cut(path, "/zones/")
	zone, _, _ := strings.Cut(rest, "/")
	return zone
}
