package cloud

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// initStep is a pending step for a new instance that the creation request cannot include.
type initStep func(ctx context.Context, s *session, c *client) error

// initSteps are the routes and prefixes of the spec that a running instance does not have. They only concern
// the network interfaces in the spec: later ones belong to programs in the cluster.
func (p *plan) initSteps(i types.Instance) (out []initStep) {
	for _, n := range i.NetworkInterfaces {
		if n.Attachment == nil {
			continue
		}
		at := slot{card: deref(n.Attachment.NetworkCardIndex), device: deref(n.Attachment.DeviceIndex)}
		if slices.Contains(p.routes, at) && deref(n.SourceDestCheck) && !strings.HasPrefix(deref(n.InterfaceType), "efa") {
			out = append(out, route(deref(n.NetworkInterfaceId)))
		}
		if shown := int32(len(n.Ipv6Prefixes)); shown < p.prefixes[at] {
			out = append(out, prefix(deref(n.NetworkInterfaceId), shown, p.prefixes[at]))
		}
	}
	return out
}

// Initialize implements [provider.Initializer].
func (s *session) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	c, err := s.on(ctx)
	if err != nil {
		return s.observe("open the account", err)
	}
	for seen, err := range (finder{s}).each(ctx, c, append(finder{s}.scopeOf(true), where("instance-id", i.ID))) {
		if err != nil {
			return err
		}
		if stateOf(seen) != types.InstanceStateNameRunning {
			return provider.Errorf(provider.Conflict, "instance %s is %s", i.ID, stateOf(seen))
		}
		for _, do := range s.plan.initSteps(seen) {
			if err := do(ctx, s, c); err != nil {
				return err
			}
		}
		return nil
	}
	return provider.Errorf(provider.Conflict, "instance %s of machine %s is not there", i.ID, ref.Name)
}

// route lets a network interface send and receive packets of other addresses.
func route(id string) initStep {
	return func(ctx context.Context, s *session, c *client) error {
		_, err := c.ec2.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{
			NetworkInterfaceId: aws.String(id), SourceDestCheck: &types.AttributeBooleanValue{Value: aws.Bool(false)},
		})
		return s.observe("turn off the check of sources and destinations of "+id, err)
	}
}

// prefix assigns the missing prefixes of a network interface. EC2 treats each such request as another one,
// and shows assigned prefixes only after a while: those requested meanwhile count as assigned, also if the
// outcome is unknown.
func prefix(id string, shown, wanted int32) initStep {
	return func(ctx context.Context, s *session, c *client) error {
		there := shown
		if asked, ok := c.past.assigned.Recall(id); ok {
			there = max(there, asked)
		}
		missing := wanted - there
		if missing <= 0 {
			return nil
		}
		_, err := c.ec2.AssignIpv6Addresses(ctx, &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: aws.String(id), Ipv6PrefixCount: aws.Int32(missing)})
		if err == nil || uncertain(err) {
			c.past.assigned.Put(id, wanted)
		}
		return s.observe("assign IPv6 prefixes to "+id, err)
	}
}
