package cloud

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/millwright-dev/millwright/provider"
)

// client is an account in a region, and what is known of it.
type client struct {
	ec2   *ec2.Client
	elb   *elb.Client
	elbv2 *elbv2.Client
	sts   *sts.Client

	looks batch[types.Instance]
	ends  batch[types.InstanceStateChange]
	tags  batch[struct{}]

	accounts *provider.Memo[string]
	images   *provider.Memo[types.Image]
	subnets  *provider.Memo[types.Subnet]
	groups   *provider.Memo[[]string]
	zones    *provider.Memo[string] // their types
	types    *provider.Memo[types.InstanceTypeInfo]
	domains  *provider.Memo[[]string]   // of networks
	members  *provider.Memo[membership] // of load balancers
	hosts    *provider.Memo[struct{}]   // those whose tag was written
	refusals *provider.Memo[error]      // of tags
	sights   sights
	past     past
}

// sights are what was seen just now, so that it need not be looked for again.
type sights struct {
	absent  *provider.Memo[struct{}] // machines of which nothing was there
	tried   *provider.Memo[struct{}] // machines for which something may have been made
	leaving *provider.Memo[struct{}] // instances that were shutting down
}

// past is what was done or seen before, and is not to be had from AWS any more, or not yet.
type past struct {
	tokens   tokens                    // of launches
	released counts                    // hosts of machines that were not used
	profiles *provider.Memo[time.Time] // since when instance profiles are refused
	assigned *provider.Memo[int32]     // how many IPv6 prefixes network interfaces have
	domains  *provider.Memo[[]string]  // of networks, as they were read last
	lived    *provider.Memo[[]string]  // the addresses that the instances of a UID had, if load balancers may know them
}

func newPast(clock provider.Clock) past {
	return past{
		tokens:   tokens{spent: provider.NewMemo[time.Time](clock, aDay)},
		profiles: provider.NewMemo[time.Time](clock, aDay),
		assigned: provider.NewMemo[int32](clock, 2*readLag),
		domains:  provider.NewMemo[[]string](clock, 100*365*aDay),
		lived:    provider.NewMemo[[]string](clock, aDay),
	}
}

// How long answers are believed. What is asked for by filters changes when people make a new image or network; what an ID
// names does not.
const (
	aWhile  = 5 * time.Minute
	aDay    = 24 * time.Hour
	aMinute = time.Minute
	aMoment = 2 * time.Second
)

func newClient(ctx context.Context, clock provider.Clock, secret map[string][]byte, p place) (*client, error) {
	c, err := configOf(ctx, secret, p)
	if err != nil {
		return nil, err
	}
	return &client{
		ec2:      ec2.NewFromConfig(c, func(o *ec2.Options) { o.BaseEndpoint = first(p.endpoint("ec2"), o.BaseEndpoint) }),
		elb:      elb.NewFromConfig(c, func(o *elb.Options) { o.BaseEndpoint = first(p.endpoint("elasticloadbalancing"), o.BaseEndpoint) }),
		elbv2:    elbv2.NewFromConfig(c, func(o *elbv2.Options) { o.BaseEndpoint = first(p.endpoint("elasticloadbalancing"), o.BaseEndpoint) }),
		sts:      sts.NewFromConfig(c, func(o *sts.Options) { o.BaseEndpoint = first(p.endpoint("sts"), o.BaseEndpoint) }),
		accounts: provider.NewMemo[string](clock, 100*365*aDay),
		images:   provider.NewMemo[types.Image](clock, aWhile),
		subnets:  provider.NewMemo[types.Subnet](clock, aWhile),
		groups:   provider.NewMemo[[]string](clock, aWhile),
		zones:    provider.NewMemo[string](clock, aDay),
		types:    provider.NewMemo[types.InstanceTypeInfo](clock, aDay),
		domains:  provider.NewMemo[[]string](clock, time.Hour),
		members:  provider.NewMemo[membership](clock, aMinute),
		hosts:    provider.NewMemo[struct{}](clock, aDay),
		refusals: provider.NewMemo[error](clock, 2*aWhile),
		past:     newPast(clock),
		sights: sights{
			absent:  provider.NewMemo[struct{}](clock, readLag/2),
			tried:   provider.NewMemo[struct{}](clock, 2*readLag),
			leaving: provider.NewMemo[struct{}](clock, aMoment),
		},
	}, nil
}

// account is the number of the account.
func (c *client) account(ctx context.Context) (string, error) {
	return c.accounts.Get(ctx, "", func(ctx context.Context) (string, error) {
		out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return "", err
		}
		return deref(out.Account), nil
	})
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
