package cloud

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/millwright-dev/millwright/provider"
)

// membership are the targets of a load balancer: in one group if it is a classic one, else in its target
// groups.
type membership []targetGroup

type targetGroup struct {
	arn     string // empty: a classic load balancer
	name    string
	byIP    bool
	network string
	members []string
}

// targetOf is the target by which the group identifies an instance.
func (g targetGroup) targetOf(i types.Instance) string {
	if g.byIP {
		return deref(i.PrivateIpAddress)
	}
	return deref(i.InstanceId)
}

func (g targetGroup) knows(id string) bool { return slices.Contains(g.members, id) }

// membership reads the targets of a load balancer, at most once a minute for all machines.
func (s loadBalancers) membership(ctx context.Context, c *client, b balancer) (membership, error) {
	return c.members.Get(ctx, b.key(), func(ctx context.Context) (membership, error) {
		if b.network {
			return s.targetGroups(ctx, c, b.name)
		}
		out, err := c.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{b.name}})
		if err != nil {
			return nil, s.observe("look at load balancer "+b.name, err)
		}
		g := targetGroup{name: b.name}
		for _, d := range out.LoadBalancerDescriptions {
			for _, i := range d.Instances {
				g.members = append(g.members, deref(i.InstanceId))
			}
		}
		return membership{g}, nil
	})
}

func (b balancer) key() string {
	if b.network {
		return "network/" + b.name
	}
	return "classic/" + b.name
}

func (s loadBalancers) targetGroups(ctx context.Context, c *client, name string) (out membership, err error) {
	found, err := c.elbv2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		return nil, s.observe("look for load balancer "+name, err)
	}
	for _, b := range found.LoadBalancers {
		pages := elbv2.NewDescribeTargetGroupsPaginator(c.elbv2, &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: b.LoadBalancerArn})
		for pages.HasMorePages() {
			groups, err := pages.NextPage(ctx)
			if err != nil {
				return nil, s.observe("look for target groups of load balancer "+name, err)
			}
			for _, g := range groups.TargetGroups {
				one := targetGroup{arn: deref(g.TargetGroupArn), name: deref(g.TargetGroupName), byIP: g.TargetType == elbv2types.TargetTypeEnumIp, network: deref(g.VpcId)}
				if one.members, err = s.targets(ctx, c, one); err != nil {
					return nil, err
				}
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// targets are those of a group, also those that are draining: only their health shows it.
func (s loadBalancers) targets(ctx context.Context, c *client, g targetGroup) (out []string, err error) {
	health, err := c.elbv2.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: aws.String(g.arn)})
	if err != nil {
		return nil, s.observe("look at target group "+g.name, err)
	}
	for _, h := range health.TargetHealthDescriptions {
		draining := h.TargetHealth != nil && h.TargetHealth.State == elbv2types.TargetHealthStateEnumDraining
		if h.Target != nil && !draining {
			out = append(out, deref(h.Target.Id))
		}
	}
	return out, nil
}

// register registers an instance with load balancers.
func (s loadBalancers) register(ctx context.Context, c *client, i types.Instance, b balancer) error {
	m, err := s.membership(ctx, c, b)
	if err != nil {
		return err
	}
	defer c.members.Forget(b.key())
	for _, g := range m {
		id := g.targetOf(i)
		if id == "" || g.knows(id) {
			continue
		}
		if g.arn == "" {
			_, err = c.elb.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
				LoadBalancerName: aws.String(g.name), Instances: []elbtypes.Instance{{InstanceId: aws.String(id)}},
			})
		} else {
			_, err = c.elbv2.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: aws.String(g.arn), Targets: []elbv2types.TargetDescription{{Id: aws.String(id)}}})
		}
		if err != nil {
			return s.observe("register "+id+" with "+g.name, err)
		}
	}
	return nil
}

// deregistration are the addresses of instances under deletion: current ones, and former ones, which others may
// have by now.
type deregistration struct{ own, former []string }

// remember stores an address by which load balancers may identify an instance: after its end EC2 does not
// report it.
func (s loadBalancers) remember(c *client, uid string, i types.Instance) {
	address := deref(i.PrivateIpAddress)
	if uid == "" || address == "" || !s.plan.byAddress() {
		return
	}
	all := c.addressesOf(uid)
	if !slices.Contains(all, address) {
		all = append(all, address)
	}
	c.past.lived.Put(uid, all)
}

// addressesOf are the observed addresses by which load balancers may identify instances of the UID.
func (c *client) addressesOf(uid string) []string {
	all, ok := c.past.lived.Recall(uid)
	if !ok {
		return nil
	}
	return slices.Clone(all)
}

// former are the first addresses of a machine's instances under deletion: from EC2, from the given
// instances, and observed ones.
func (s loadBalancers) former(c *client, ref provider.Ref, doomed []types.Instance, given []provider.Instance) (out deregistration) {
	for _, i := range doomed {
		if a := deref(i.PrivateIpAddress); a != "" {
			out.own = append(out.own, a)
		}
	}
	out.former = c.addressesOf(ref.UID)
	for _, g := range given {
		for _, a := range g.Addresses {
			if a.Type == "InternalIP" {
				out.former = append(out.former, a.Address)
			}
		}
	}
	slices.Sort(out.former)
	out.former = slices.DeleteFunc(slices.Compact(out.former), func(a string) bool { return slices.Contains(out.own, a) })
	return out
}

// knownTo are the addresses that a target group has.
func (l deregistration) knownTo(g targetGroup) deregistration {
	unknown := func(a string) bool { return !g.byIP || !g.knows(a) }
	return deregistration{own: slices.DeleteFunc(slices.Clone(l.own), unknown), former: slices.DeleteFunc(slices.Clone(l.former), unknown)}
}

// deregister removes instances under deletion from target groups that identify them by address: those
// groups do not notice that an instance has ended, and would send to the next instance with the address. A
// deleted load balancer is ignored.
func (s loadBalancers) deregister(ctx context.Context, c *client, l deregistration) error {
	if s.plan == nil {
		return nil
	}
	var errs []error
	for _, b := range s.plan.balancers {
		if !b.network {
			continue
		}
		m, err := s.membership(ctx, c, b)
		if provider.KindOf(err) == provider.Invalid {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, g := range m {
			errs = append(errs, s.deregisterFrom(ctx, c, b, g, l.knownTo(g)))
		}
	}
	return errors.Join(errs...)
}

func (s loadBalancers) deregisterFrom(ctx context.Context, c *client, b balancer, g targetGroup, l deregistration) error {
	if len(l.own)+len(l.former) == 0 {
		return nil
	}
	defer c.members.Forget(b.key())
	taken, err := s.taken(ctx, c, g.network, l.former)
	if err != nil {
		return err
	}
	var targets []elbv2types.TargetDescription
	for _, address := range slices.Concat(l.own, l.former) {
		if !slices.Contains(taken, address) {
			targets = append(targets, elbv2types.TargetDescription{Id: aws.String(address)})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	_, err = c.elbv2.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: aws.String(g.arn), Targets: targets})
	if code := codeOf(err); code == "InvalidTarget" || strings.HasPrefix(code, "TargetGroupNotFound") {
		return nil
	}
	return s.observe("deregister from "+g.name, err)
}

// taken are those of the addresses that live instances of the network have by now. Other networks may have
// the same ones.
func (s loadBalancers) taken(ctx context.Context, c *client, network string, addresses []string) (out []string, err error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	by := []types.Filter{where("private-ip-address", addresses...)}
	if network != "" {
		by = append(by, where("vpc-id", network))
	}
	for i, err := range finder(s).each(ctx, c, by) {
		if err != nil {
			return nil, err
		}
		if stateOf(i) != types.InstanceStateNameTerminated && stateOf(i) != types.InstanceStateNameShuttingDown {
			out = append(out, deref(i.PrivateIpAddress))
		}
	}
	return out, nil
}
