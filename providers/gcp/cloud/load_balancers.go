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
func (lb loadBalancers) groupName(zone string) string {
	return lb.class.Cluster + "-" + controlPlaneRole + "-" + zone
}

func (lb loadBalancers) service() string { return lb.class.Cluster + "-api-internal" }

// pathOf is the part of a link that names an object, without the API's address.
func pathOf(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}

func (lb loadBalancers) instancePath(zone, name string) string {
	return "projects/" + lb.project + "/zones/" + zone + "/instances/" + name
}

func (lb loadBalancers) groupPath(zone string) string {
	return "projects/" + lb.project + "/zones/" + zone + "/instanceGroups/" + lb.groupName(zone)
}

// loadBalancers manages the membership of instances in the load balancers of the control plane.
type loadBalancers struct{ *call }

// concerns reports whether there may be load balancers that an instance should be a member of.
func (lb loadBalancers) concerns(i provider.Instance) bool {
	return len(lb.plan.pools()) > 0 || lb.controlPlane(i)
}

// register adds an instance to the load balancers that should have it, if it is missing.
func (lb loadBalancers) register(ctx context.Context, i provider.Instance) (err error) {
	for _, pool := range lb.plan.pools() {
		err = errors.Join(err, lb.enterPool(ctx, i, pool))
	}
	if lb.controlPlane(i) {
		err = errors.Join(err, lb.enterGroup(ctx, i))
	}
	return err
}

// poolMembers are those of a pool, by their paths. A pool has instances of its region only.
func (lb loadBalancers) poolMembers(ctx context.Context, region, pool string) (all []string, err error) {
	p, err := lb.client.compute.TargetPools.Get(lb.project, region, pool).Context(ctx).Do()
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
func (lb loadBalancers) groupMembers(ctx context.Context, zone string) (all []string, err error) {
	call := lb.client.compute.InstanceGroups.ListInstances(lb.project, zone, lb.groupName(zone), &compute.InstanceGroupsListInstancesRequest{})
	err = call.Pages(ctx, func(page *compute.InstanceGroupsListInstances) error {
		for _, i := range page.Items {
			all = append(all, pathOf(i.Instance))
		}
		return nil
	})
	return all, err
}

// missing is the error of an operation on an instance that does not exist.
func (c *call) missing(ctx context.Context, err error, name string) error {
	if gone(err) {
		return provider.Errorf(provider.Conflict, "there is no instance %s", name)
	}
	return c.observe(ctx, err, "ask for instance %s", name)
}

func (lb loadBalancers) enterPool(ctx context.Context, i provider.Instance, pool string) error {
	path := lb.instancePath(i.Zone, i.NodeName)
	members, err := lb.poolMembers(ctx, i.Region, pool)
	if err == nil && !slices.Contains(members, path) {
		_, err = lb.client.compute.TargetPools.AddInstance(lb.project, i.Region, pool, &compute.TargetPoolsAddInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
	}
	return lb.observe(ctx, err, "add instance %s to target pool %s", i.NodeName, pool)
}

// enterGroup adds the instance to the control plane's group in its zone, and that group to the backend
// service; without the service it does nothing.
func (lb loadBalancers) enterGroup(ctx context.Context, i provider.Instance) error {
	service, err := lb.client.compute.RegionBackendServices.Get(lb.project, i.Region, lb.service()).Context(ctx).Do()
	if gone(err) {
		return nil
	}
	if err != nil {
		return lb.observe(ctx, err, "ask for backend service %s", lb.service())
	}
	if err := lb.joinGroup(ctx, i); err != nil {
		return err
	}
	if slices.ContainsFunc(service.Backends, func(of *compute.Backend) bool { return pathOf(of.Group) == lb.groupPath(i.Zone) }) {
		return nil
	}
	service.Backends = append(service.Backends, &compute.Backend{BalancingMode: "CONNECTION", Group: host + lb.groupPath(i.Zone)})
	_, err = lb.client.compute.RegionBackendServices.Update(lb.project, i.Region, lb.service(), service).Context(ctx).Do()
	return lb.observe(ctx, err, "add instance group %s to backend service %s", lb.groupName(i.Zone), lb.service())
}

// joinGroup adds the instance to its zone's group, and creates a missing group.
func (lb loadBalancers) joinGroup(ctx context.Context, i provider.Instance) error {
	group, path := lb.groupName(i.Zone), lb.instancePath(i.Zone, i.NodeName)
	members, err := lb.groupMembers(ctx, i.Zone)
	if gone(err) {
		err = lb.createGroup(ctx, i)
	}
	if err != nil {
		return lb.observe(ctx, err, "ask for instance group %s", group)
	}
	if slices.Contains(members, path) {
		return nil
	}
	_, err = lb.client.compute.InstanceGroups.AddInstances(lb.project, i.Zone, group, &compute.InstanceGroupsAddInstancesRequest{
		Instances: []*compute.InstanceReference{{Instance: host + path}},
	}).Context(ctx).Do()
	if because(err, "memberAlreadyExists") {
		return nil
	}
	return lb.observe(ctx, err, "add instance %s to instance group %s", i.NodeName, group)
}

// createGroup creates the group of the instance's zone, in the network of the instance.
func (lb loadBalancers) createGroup(ctx context.Context, i provider.Instance) error {
	is, err := lb.client.compute.Instances.Get(lb.project, i.Zone, i.NodeName).Context(ctx).Do()
	if err != nil {
		return lb.missing(ctx, err, i.NodeName)
	}
	group := &compute.InstanceGroup{Name: lb.groupName(i.Zone)}
	if len(is.NetworkInterfaces) > 0 {
		group.Network, group.Subnetwork = is.NetworkInterfaces[0].Network, is.NetworkInterfaces[0].Subnetwork
	}
	_, err = lb.client.compute.InstanceGroups.Insert(lb.project, i.Zone, group).Context(ctx).Do()
	if taken(err) {
		return nil
	}
	return lb.observe(ctx, err, "make instance group %s", group.Name)
}

// because reports whether an answer has this reason.
func because(err error, why string) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && reason(e) == why
}

// deregister removes an instance from its load balancers before its deletion.
func (lb loadBalancers) deregister(ctx context.Context, i provider.Instance) error {
	path := lb.instancePath(i.Zone, i.NodeName)
	for _, pool := range lb.plan.pools() {
		if err := lb.leavePool(ctx, i.Region, pool, func(member string) bool { return member == path }); err != nil {
			return err
		}
	}
	if !lb.controlPlane(i) {
		return nil
	}
	members, err := lb.groupMembers(ctx, i.Zone)
	if err == nil && slices.Contains(members, path) {
		_, err = lb.client.compute.InstanceGroups.RemoveInstances(lb.project, i.Zone, lb.groupName(i.Zone), &compute.InstanceGroupsRemoveInstancesRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
	}
	if gone(err) || because(err, "memberNotFound") {
		return nil
	}
	return lb.observe(ctx, err, "remove instance %s from instance group %s", i.NodeName, lb.groupName(i.Zone))
}

// leavePool removes the given members, by their paths, from a target pool.
func (lb loadBalancers) leavePool(ctx context.Context, region, pool string, goes func(path string) bool) error {
	members, err := lb.poolMembers(ctx, region, pool)
	if gone(err) {
		return nil
	}
	if err != nil {
		return lb.observe(ctx, err, "ask for target pool %s", pool)
	}
	for _, path := range members {
		if !goes(path) {
			continue
		}
		_, err = lb.client.compute.TargetPools.RemoveInstance(lb.project, region, pool, &compute.TargetPoolsRemoveInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
		if err != nil && !gone(err) {
			return lb.observe(ctx, err, "remove instance %s from target pool %s", tail(path), pool)
		}
	}
	return nil
}

// forget removes names of deleted instances from target pools, in any zone: pools keep those of instances
// that another client removed.
func (lb loadBalancers) forget(ctx context.Context, ref provider.Ref) error {
	pools := lb.plan.pools()
	if len(pools) == 0 {
		return nil
	}
	v, err := lb.find(ctx, provider.Ref{Name: ref.Name})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for at := range v.taken {
		zone, name, _ := strings.Cut(at, "/")
		there[lb.instancePath(zone, name)] = true
	}
	for _, i := range v.instances {
		there[lb.instancePath(i.Zone, i.NodeName)] = true
	}
	stale := func(path string) bool {
		name := tail(path)
		return (name == ref.Name || name == lb.alternativeName(ref)) && path == lb.instancePath(zoneIn(path), name) && !there[path]
	}
	region, _, _ := lb.plan.where()
	for _, pool := range pools {
		if err := lb.leavePool(ctx, region, pool, stale); err != nil {
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
