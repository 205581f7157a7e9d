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

// controlPlaneRole is the role of machines that load balancers of the API server are to know.
const controlPlaneRole = "master"

// controlPlane reports whether an instance is of the control plane: by our label or, where the original made it, by the
// network tags that the installer gives.
func (s *scope) controlPlane(i *compute.Instance) bool {
	if s.class.API != provider.OpenShift {
		return false
	}
	return i.Labels[roleLabel] == controlPlaneRole || i.Labels[uidLabel] == "" && i.Tags != nil &&
		(slices.Contains(i.Tags.Items, s.class.Cluster+"-master") || slices.Contains(i.Tags.Items, s.class.Cluster+"-control-plane"))
}

// groupName is that of the control plane's instances in a zone; service that of the backend service that has the groups.
func (b balancer) groupName(zone string) string {
	return b.class.Cluster + "-" + controlPlaneRole + "-" + zone
}

func (b balancer) service() string { return b.class.Cluster + "-api-internal" }

// pathOf is the part of a link that names something wherever the API is.
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

// balancer is what sends requests to the control plane, and knows its instances.
type balancer struct{ *caller }

// watch sees instances as the engine does, and whether something is still to be done for them. What load balancers say is
// asked for once, and only for instances that are to be members.
type watch struct {
	balancer
	known map[string][]string // the members of what was asked for; nil: that could not be told
}

func newWatch(c *caller) *watch { return &watch{balancer{c}, map[string][]string{}} }

func watched(ctx context.Context, c *caller, all []*compute.Instance) (out []provider.Instance) {
	w := newWatch(c)
	for _, i := range all {
		out = append(out, w.seen(ctx, i))
	}
	return out
}

func (w *watch) seen(ctx context.Context, i *compute.Instance) provider.Instance {
	out := w.scope.seen(i)
	if out.State == provider.Running && w.class.API == provider.OpenShift {
		out.Uninitialized = len(w.missingLabels(i)) > 0 || w.unregistered(ctx, i)
	}
	return out
}

// missingLabels are those of the whole cluster that an instance lacks.
func (s *scope) missingLabels(i *compute.Instance) map[string]string {
	out := map[string]string{}
	for k, v := range s.from.labels {
		if _, ok := i.Labels[k]; !ok && !slices.Contains(ourLabels, k) {
			out[k] = v
		}
	}
	return out
}

// unregistered reports whether a load balancer is there that does not have the instance. What cannot be told is no reason to
// do something.
func (w *watch) unregistered(ctx context.Context, i *compute.Instance) bool {
	zone := tail(i.Zone)
	self := w.instancePath(zone, i.Name)
	for _, pool := range w.template.pools() {
		if w.lacks(ctx, "pool "+pool, self, func(ctx context.Context) ([]string, error) { return w.poolMembers(ctx, pool) }) {
			return true
		}
	}
	if !w.controlPlane(i) {
		return false
	}
	region := regionOf(zone)
	if w.lacks(ctx, "service "+region, w.groupPath(zone), func(ctx context.Context) ([]string, error) { return w.backends(ctx, region) }) {
		return true
	}
	// Without the service there is no group to be in.
	return w.known["service "+region] != nil &&
		w.lacks(ctx, "group "+zone, self, func(ctx context.Context) ([]string, error) { return w.groupMembers(ctx, zone) })
}

func (w *watch) lacks(ctx context.Context, what, member string, ask func(context.Context) ([]string, error)) bool {
	members, asked := w.known[what]
	if !asked {
		var err error
		if members, err = ask(ctx); err != nil {
			members = nil
		} else if members == nil {
			members = []string{}
		}
		w.known[what] = members
	}
	return members != nil && !slices.Contains(members, member)
}

func (s *scope) region() string {
	region, _, _ := s.template.where()
	return region
}

func (b balancer) poolMembers(ctx context.Context, pool string) (all []string, err error) {
	p, err := b.client.compute.TargetPools.Get(b.project, b.region(), pool).Context(ctx).Do()
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

func (b balancer) backends(ctx context.Context, region string) (all []string, err error) {
	service, err := b.client.compute.RegionBackendServices.Get(b.project, region, b.service()).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	for _, backend := range service.Backends {
		all = append(all, pathOf(backend.Group))
	}
	return all, nil
}

// groupMembers are none where there is no group.
func (b balancer) groupMembers(ctx context.Context, zone string) (all []string, err error) {
	call := b.client.compute.InstanceGroups.ListInstances(b.project, zone, b.groupName(zone), &compute.InstanceGroupsListInstancesRequest{})
	err = call.Pages(ctx, func(page *compute.InstanceGroupsListInstances) error {
		for _, i := range page.Items {
			all = append(all, pathOf(i.Instance))
		}
		return nil
	})
	if gone(err) {
		return nil, nil
	}
	return all, err
}

// Initialize implements [provider.Initializer]: it does what is still to be done for an instance, as [provider.Instance].Uninitialized
// says, also for one that has run for long: labels of the cluster, and what load balancers have to know.
func (s *session) Initialize(ctx context.Context, _ provider.Ref, i provider.Instance) error {
	at, ok := addressOf(i.ProviderID)
	if !ok || s.class.API != provider.OpenShift {
		return nil
	}
	is, err := s.client.compute.Instances.Get(s.project, at.zone, at.name).Context(ctx).Do()
	if err != nil {
		return s.missing(ctx, err, at.name)
	}
	b := balancer{s.caller}
	if err := b.addLabels(ctx, is); err != nil {
		return err
	}
	for _, pool := range s.template.pools() {
		if err := b.enterPool(ctx, is, pool); err != nil {
			return err
		}
	}
	if !s.controlPlane(is) {
		return nil
	}
	return b.enterGroup(ctx, is)
}

// missing is the error of what is done to an instance that is not there.
func (c *caller) missing(ctx context.Context, err error, name string) error {
	if gone(err) {
		return provider.Errorf(provider.Conflict, "there is no instance %s", name)
	}
	return c.observed(ctx, err, "ask for instance %s", name)
}

func (b balancer) addLabels(ctx context.Context, i *compute.Instance) error {
	labels := b.missingLabels(i)
	if len(labels) == 0 {
		return nil
	}
	for k, v := range i.Labels {
		labels[k] = v
	}
	_, err := b.client.compute.Instances.SetLabels(b.project, tail(i.Zone), i.Name, &compute.InstancesSetLabelsRequest{
		Labels: labels, LabelFingerprint: i.LabelFingerprint,
	}).Context(ctx).Do()
	return b.observed(ctx, err, "label instance %s", i.Name)
}

func (b balancer) enterPool(ctx context.Context, i *compute.Instance, pool string) error {
	members, err := b.poolMembers(ctx, pool)
	if err == nil && !slices.Contains(members, pathOf(i.SelfLink)) {
		_, err = b.client.compute.TargetPools.AddInstance(b.project, b.region(), pool, &compute.TargetPoolsAddInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: i.SelfLink}},
		}).Context(ctx).Do()
	}
	return b.observed(ctx, err, "add instance %s to target pool %s", i.Name, pool)
}

// enterGroup makes the instance a member of the control plane's group in its zone, and that group one of the backend service;
// without the service there is nothing to do.
func (b balancer) enterGroup(ctx context.Context, i *compute.Instance) error {
	zone := tail(i.Zone)
	service, err := b.client.compute.RegionBackendServices.Get(b.project, regionOf(zone), b.service()).Context(ctx).Do()
	if gone(err) {
		return nil
	}
	if err != nil {
		return b.observed(ctx, err, "ask for backend service %s", b.service())
	}
	members, err := b.groupOf(ctx, i)
	if err != nil {
		return b.observed(ctx, err, "ask for instance group %s", b.groupName(zone))
	}
	if !slices.Contains(members, pathOf(i.SelfLink)) {
		_, err = b.client.compute.InstanceGroups.AddInstances(b.project, zone, b.groupName(zone), &compute.InstanceGroupsAddInstancesRequest{
			Instances: []*compute.InstanceReference{{Instance: i.SelfLink}},
		}).Context(ctx).Do()
		if err != nil && !because(err, "memberAlreadyExists") {
			return b.observed(ctx, err, "add instance %s to instance group %s", i.Name, b.groupName(zone))
		}
	}
	if slices.ContainsFunc(service.Backends, func(of *compute.Backend) bool { return pathOf(of.Group) == b.groupPath(zone) }) {
		return nil
	}
	service.Backends = append(service.Backends, &compute.Backend{BalancingMode: "CONNECTION", Group: host + b.groupPath(zone)})
	_, err = b.client.compute.RegionBackendServices.Update(b.project, regionOf(zone), b.service(), service).Context(ctx).Do()
	return b.observed(ctx, err, "add instance group %s to backend service %s", b.groupName(zone), b.service())
}

// groupOf are the members of the group of the instance's zone, which is made where there is none.
func (b balancer) groupOf(ctx context.Context, i *compute.Instance) ([]string, error) {
	zone := tail(i.Zone)
	_, err := b.client.compute.InstanceGroups.Get(b.project, zone, b.groupName(zone)).Context(ctx).Do()
	if !gone(err) {
		if err != nil {
			return nil, err
		}
		return b.groupMembers(ctx, zone)
	}
	group := &compute.InstanceGroup{Name: b.groupName(zone)}
	if len(i.NetworkInterfaces) > 0 {
		group.Network, group.Subnetwork = i.NetworkInterfaces[0].Network, i.NetworkInterfaces[0].Subnetwork
	}
	if _, err = b.client.compute.InstanceGroups.Insert(b.project, zone, group).Context(ctx).Do(); taken(err) {
		err = nil
	}
	return nil, err
}

// because reports whether that is the reason of an answer.
func because(err error, why string) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && reason(e) == why
}

// deregister takes an instance that is about to go out of what sends it requests.
func (b balancer) deregister(ctx context.Context, i *compute.Instance) error {
	for _, pool := range b.template.pools() {
		if err := b.leavePool(ctx, pool, pathOf(i.SelfLink)); err != nil {
			return err
		}
	}
	if !b.controlPlane(i) {
		return nil
	}
	zone := tail(i.Zone)
	members, err := b.groupMembers(ctx, zone)
	if err == nil && slices.Contains(members, pathOf(i.SelfLink)) {
		_, err = b.client.compute.InstanceGroups.RemoveInstances(b.project, zone, b.groupName(zone), &compute.InstanceGroupsRemoveInstancesRequest{
			Instances: []*compute.InstanceReference{{Instance: i.SelfLink}},
		}).Context(ctx).Do()
	}
	if because(err, "memberNotFound") {
		return nil
	}
	return b.observed(ctx, err, "remove instance %s from instance group %s", i.Name, b.groupName(zone))
}

// leavePool takes an instance, by its path, out of a target pool that has it.
func (b balancer) leavePool(ctx context.Context, pool, path string) error {
	members, err := b.poolMembers(ctx, pool)
	if gone(err) {
		return nil
	}
	if err == nil && slices.Contains(members, path) {
		_, err = b.client.compute.TargetPools.RemoveInstance(b.project, b.region(), pool, &compute.TargetPoolsRemoveInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: host + path}},
		}).Context(ctx).Do()
	}
	return b.observed(ctx, err, "remove instance %s from target pool %s", tail(path), pool)
}

// forget takes names out of target pools of which no instance is left: pools keep those of instances that somebody else removed.
func (b balancer) forget(ctx context.Context, ref provider.Ref) error {
	pools := b.template.pools()
	if len(pools) == 0 {
		return nil
	}
	v, err := b.look(ctx, provider.Ref{Name: ref.Name})
	if err != nil {
		return err
	}
	for _, zone := range b.template.zones() {
		for _, name := range []string{ref.Name, b.spare(ref)} {
			if v.taken[zone+"/"+name] || slices.ContainsFunc(v.of, func(i provider.Instance) bool { return i.Zone == zone && i.NodeName == name }) {
				continue
			}
			for _, pool := range pools {
				if err := b.leavePool(ctx, pool, b.instancePath(zone, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
