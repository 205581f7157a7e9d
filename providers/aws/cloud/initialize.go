package cloud

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// demand is what is still to be done to a running instance, and is looked for whenever it is looked at.
type demand func(ctx context.Context, s *session, c *client) error

// demands are what the spec asks for and a running instance does not have: routes, prefixes, load balancers, tags.
func (s reading) demands(ctx context.Context, c *client, i types.Instance) (out []demand) {
	for _, n := range i.NetworkInterfaces {
		if s.plan.routes && deref(n.SourceDestCheck) && !strings.HasPrefix(deref(n.InterfaceType), "efa") {
			out = append(out, route(deref(n.NetworkInterfaceId)))
		}
		if n.Attachment == nil {
			continue
		}
		if missing := s.plan.prefixes[deref(n.Attachment.DeviceIndex)] - int32(len(n.Ipv6Prefixes)); missing > 0 {
			out = append(out, prefix(deref(n.NetworkInterfaceId), missing))
		}
	}
	for _, b := range balancing(s).unknownTo(ctx, c, i) {
		out = append(out, func(ctx context.Context, s *session, c *client) error {
			return balancing{s}.register(ctx, c, i, b)
		})
	}
	if drift := belonging(s).drift(mapOf(i.Tags)); len(drift) > 0 && !c.repairs.knows(deref(i.InstanceId)) {
		out = append(out, repair(deref(i.InstanceId), drift))
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
		return s.judge("open the account", err)
	}
	for seen, err := range (reading{s}).each(ctx, c, append((belonging{s}).scope(), where("instance-id", i.ID))) {
		if err != nil {
			return err
		}
		if stateOf(seen) != types.InstanceStateNameRunning {
			return provider.Errorf(provider.Conflict, "instance %s is %s", i.ID, stateOf(seen))
		}
		for _, do := range (reading{s}).demands(ctx, c, seen) {
			if err := do(ctx, s, c); err != nil {
				return err
			}
		}
		return nil
	}
	return provider.Errorf(provider.Conflict, "instance %s of machine %s is not there", i.ID, ref.Name)
}

// route lets a network interface send and take packets of other addresses.
func route(id string) demand {
	return func(ctx context.Context, s *session, c *client) error {
		_, err := c.ec2.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{
			NetworkInterfaceId: aws.String(id), SourceDestCheck: &types.AttributeBooleanValue{Value: aws.Bool(false)},
		})
		return s.judge("turn off the check of sources and destinations of "+id, err)
	}
}

func prefix(id string, count int32) demand {
	return func(ctx context.Context, s *session, c *client) error {
		_, err := c.ec2.AssignIpv6Addresses(ctx, &ec2.AssignIpv6AddressesInput{NetworkInterfaceId: aws.String(id), Ipv6PrefixCount: aws.Int32(count)})
		return s.judge("assign IPv6 prefixes to "+id, err)
	}
}

// drift are the tags that the spec, the cluster and ownership ask for, and an instance has not, or not so.
func (s belonging) drift(has map[string]string) map[string]string {
	want := s.userTags()
	maps.Copy(want, s.ownership())
	maps.DeleteFunc(want, func(key, value string) bool {
		other, there := has[key]
		return there && (other == value || key == s.clusterKey() && slices.Contains([]string{owned, oneTag}, other))
	})
	return want
}

// repair writes tags. What refuses that for good holds up no machine: it is tried again after a while.
func repair(id string, tags map[string]string) demand {
	return func(ctx context.Context, s *session, c *client) error {
		_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: listed(tags)})
		err = classify("repair the tags of "+id, err, s.plan.names)
		switch provider.KindOf(err) {
		case provider.Denied, provider.Invalid: // the credentials do hold for the rest
			c.repairs.know(id)
			return nil
		}
		return err
	}
}
