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
	"github.com/millwright-dev/millwright/provider/kit"
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

	accounts *kit.Memo[string]
	images   *kit.Memo[types.Image]
	subnets  *kit.Memo[types.Subnet]
	groups   *kit.Memo[[]string]
	zones    *kit.Memo[string] // their types
	types    *kit.Memo[types.InstanceTypeInfo]
	domains  *kit.Memo[[]string]   // of networks
	members  *kit.Memo[membership] // of load balancers
	hosts    *kit.Memo[struct{}]   // those whose tag was written
	refusals *kit.Memo[error]      // of tags
	sights   sights
	past     past
}

// sights are what was seen just now, so that it need not be looked for again.
type sights struct {
	absent  *kit.Memo[struct{}] // machines of which nothing was there
	tried   *kit.Memo[struct{}] // machines for which something may have been made
	leaving *kit.Memo[struct{}] // instances that were shutting down
}

// past is what was done or seen before, and is not to be had from AWS any more, or not yet.
type past struct {
	tokens   tokens               // of launches
	released counts               // hosts of machines that were not used
	profiles *kit.Memo[time.Time] // since when instance profiles are refused
	assigned *kit.Memo[int32]     // how many IPv6 prefixes network interfaces have
	domains  *kit.Memo[[]string]  // of networks, as they were read last
	lived    *kit.Memo[[]string]  // the addresses that the instances of a UID had, if load balancers may know them
}

func newPast(clock provider.Clock) past {
	return past{
		tokens:   tokens{spent: kit.NewMemo[time.Time](clock, aDay)},
		profiles: kit.NewMemo[time.Time](clock, aDay),
		assigned: kit.NewMemo[int32](clock, 2*readLag),
		domains:  kit.NewMemo[[]string](clock, 100*365*aDay),
		lived:    kit.NewMemo[[]string](clock, aDay),
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
		accounts: kit.NewMemo[string](clock, 100*365*aDay),
		images:   kit.NewMemo[types.Image](clock, aWhile),
		subnets:  kit.NewMemo[types.Subnet](clock, aWhile),
		groups:   kit.NewMemo[[]string](clock, aWhile),
		zones:    kit.NewMemo[string](clock, aDay),
		types:    kit.NewMemo[types.InstanceTypeInfo](clock, aDay),
		domains:  kit.NewMemo[[]string](clock, time.Hour),
		members:  kit.NewMemo[membership](clock, aMinute),
		hosts:    kit.NewMemo[struct{}](clock, aDay),
		refusals: kit.NewMemo[error](clock, 2*aWhile),
		past:     newPast(clock),
		sights: sights{
			absent:  kit.NewMemo[struct{}](clock, readLag/2),
			tried:   kit.NewMemo[struct{}](clock, 2*readLag),
			leaving: kit.NewMemo[struct{}](clock, aMoment),
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
