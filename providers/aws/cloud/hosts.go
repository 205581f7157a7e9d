package cloud

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// hostFor puts the instance of a request on a dedicated host, if the spec wants that. It returns the host
// that was allocated for the machine; empty if none was.
func (s dedicatedHosts) hostFor(ctx context.Context, c *client, ref provider.Ref, in *ec2.RunInstancesInput, zone string) (string, error) {
	h := s.plan.host
	if h.shared {
		return "", s.share(ctx, c, h.given)
	}
	if !h.own {
		return "", nil
	}
	for _, n := range in.NetworkInterfaces { // a host is in a zone, which may follow from the subnet alone
		if n.SubnetId != nil {
			subnet, err := creator(s).lookup(c).subnet(ctx, *n.SubnetId)
			if err != nil {
				return "", err
			}
			zone = deref(subnet.AvailabilityZone)
			break
		}
	}
	if zone == "" {
		return "", provider.InvalidField(s.plan.names[ofZone], "a dedicated host is allocated in a zone")
	}
	id, err := s.allocate(ctx, c, ref, zone)
	if err != nil {
		return "", err
	}
	if in.Placement == nil {
		in.Placement = &types.Placement{Tenancy: types.TenancyHost}
	}
	in.Placement.HostId = aws.String(id)
	return id, nil
}

// share tags a user's host as used by the cluster, once. If EC2 refuses that, only the tag is missing, as
// in the original: the host is the user's, and may have its maximum of tags.
func (s dedicatedHosts) share(ctx context.Context, c *client, id string) error {
	_, err := c.hosts.Get(ctx, s.class.Cluster+"/"+id, func(ctx context.Context) (struct{}, error) {
		_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: listed(map[string]string{ownership(s).clusterKey(): "shared"})})
		return struct{}{}, err
	})
	switch code := codeOf(err); {
	case code == "InvalidID" || code == "InvalidHostID.NotFound":
		return provider.InvalidField(s.plan.names[ofHost], "there is no dedicated host %s", id)
	case code == "UnauthorizedOperation" || err != nil && provider.KindOf(classify("", err, nil)) == provider.Invalid:
		return nil
	}
	return s.observe("tag dedicated host "+id, err)
}

// allocate reuses the machine's host, or allocates one. A token names the host forever, also after its
// release: then allocate uses the next token.
func (s dedicatedHosts) allocate(ctx context.Context, c *client, ref provider.Ref, zone string) (string, error) {
	for h, err := range s.hosts(ctx, c, where("tag:"+uidTag, ref.UID)) {
		if err != nil {
			return "", err
		}
		if deref(h.AvailabilityZone) == zone && h.State == types.AllocationStateAvailable {
			return deref(h.HostId), nil
		}
	}
	tags := ownership(s).tagsOf(s.plan.host.tags, ref, "")
	out, err := c.ec2.AllocateHosts(ctx, &ec2.AllocateHostsInput{
		AvailabilityZone: aws.String(zone), InstanceType: aws.String(s.plan.instanceType), Quantity: aws.Int32(1), AutoPlacement: types.AutoPlacementOff,
		ClientToken:       aws.String(fmt.Sprintf("%s-%d", ref.Token(s.class.Cluster), c.past.released.of(ref.UID))),
		TagSpecifications: tagged(tags, types.ResourceTypeDedicatedHost),
	})
	if codeOf(err) == mismatch { // the token's was another one: if it is still there, it is found by its tag
		c.past.released.add(ref.UID)
	}
	if err != nil {
		return "", s.observe("allocate a dedicated host", err)
	}
	if len(out.HostIds) == 0 {
		return "", provider.Errorf(provider.Transient, "EC2 allocated a dedicated host and did not say which")
	}
	return out.HostIds[0], nil
}

// releaseUnused releases the host of an instance that was not created, and returns the error of the creation: an
// Exhausted error must leave nothing behind. A host that cannot be released is found again by its tag.
func (s dedicatedHosts) releaseUnused(ctx context.Context, c *client, ref provider.Ref, host, code string, why error) error {
	kind := provider.KindOf(why)
	if host != "" && code == "InvalidHostID.NotFound" { // the token's was released before
		c.past.released.add(ref.UID)
		return provider.Errorf(provider.Transient, "%w", why)
	}
	if host == "" || kind != provider.Exhausted && kind != provider.Invalid {
		return why
	}
	if _, err := s.release(ctx, c, []string{host}); err != nil {
		return provider.Errorf(provider.Transient, "%w; and %w", why, err)
	}
	c.past.released.add(ref.UID)
	return why
}

// counts counts events of machines.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) of(uid string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[uid]
}

// mostCounted is the number of machines at which all counts are forgotten.
const mostCounted = 10_000

func (c *counts) add(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil || len(c.n) > mostCounted {
		c.n = map[string]int{}
	}
	c.n[uid]++
}

// release releases hosts, and reports whether all are released: occupied ones stay.
func (s dedicatedHosts) release(ctx context.Context, c *client, ids []string) (bool, error) {
	out, err := c.ec2.ReleaseHosts(ctx, &ec2.ReleaseHostsInput{HostIds: ids})
	if err != nil {
		return false, s.observe("release a dedicated host", err)
	}
	for _, u := range out.Unsuccessful {
		switch code := deref(deref(u.Error).Code); code {
		case "Client.InvalidHost.NotFound", "InvalidHost.NotFound", "Client.InvalidHostID.NotFound", "InvalidHostID.NotFound":
		case "Client.InvalidHost.Occupied", "InvalidHost.Occupied":
			return false, nil
		default:
			return false, provider.Errorf(reactTo(code, "").kind, "release dedicated host %s: %s: %s", deref(u.ResourceId), code, deref(deref(u.Error).Message))
		}
	}
	return true, nil
}

// releaseHosts releases the hosts that were allocated for a machine whose instances have ended. It only
// searches if there may be hosts: if the spec, which may be missing, or an instance indicates it.
func (s dedicatedHosts) releaseHosts(ctx context.Context, c *client, ref provider.Ref, ended []types.Instance) (bool, error) {
	own := s.plan != nil && s.plan.host.own
	var ids []string
	onHost := false
	for _, i := range ended {
		if i.Placement == nil || i.Placement.Tenancy != types.TenancyHost {
			continue
		}
		onHost = true
		if id := deref(i.Placement.HostId); id != "" && (own || mapOf(i.Tags)[hostTag] == id) {
			ids = append(ids, id)
		}
	}
	mayHave := own || onHost || s.plan == nil && s.class.API == provider.OpenShift
	if ref.UID != "" && mayHave {
		for h, err := range s.hosts(ctx, c, where("tag:"+uidTag, ref.UID)) {
			if err != nil {
				return false, err
			}
			ids = append(ids, deref(h.HostId))
		}
	}
	if len(ids) == 0 {
		return true, nil
	}
	slices.Sort(ids)
	return s.release(ctx, c, slices.Compact(ids))
}

// hosts yields those of the cluster that pass a filter, except released ones.
func (s dedicatedHosts) hosts(ctx context.Context, c *client, by types.Filter) iter.Seq2[types.Host, error] {
	return func(yield func(types.Host, error) bool) {
		pages := ec2.NewDescribeHostsPaginator(c.ec2, &ec2.DescribeHostsInput{Filter: append(ownership(s).hostScope(), by)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.Host{}, s.observe("look for dedicated hosts", err))
				return
			}
			for _, h := range out.Hosts {
				if h.State != types.AllocationStateReleased && h.State != types.AllocationStateReleasedPermanentFailure && !yield(h, nil) {
					return
				}
			}
		}
	}
}

func (s ownership) hostScope() []types.Filter {
	return []types.Filter{where("tag:"+s.clusterKey(), owned)}
}

// Leftovers implements [provider.LeftoverLister]: dedicated hosts that were allocated for an instance that
// does not exist. Only specs of one API have them.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		if s.class.API != provider.OpenShift {
			return
		}
		c, err := s.on(ctx)
		if err != nil {
			yield(provider.Leftover{}, s.observe("open the account", err))
			return
		}
		for h, err := range (dedicatedHosts{s}).hosts(ctx, c, where("tag-key", uidTag)) {
			if err != nil {
				yield(provider.Leftover{}, err)
				return
			}
			if len(h.Instances) > 0 {
				continue
			}
			tags := mapOf(h.Tags)
			if !yield(provider.Leftover{
				Kind: "dedicated-host", ID: deref(h.HostId), UID: tags[uidTag], Name: tags[nameTag], Owner: tags[ownerTag], Namespace: tags[namespaceTag],
			}, nil) {
				return
			}
		}
	}
}
