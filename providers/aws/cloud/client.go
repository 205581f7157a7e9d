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

	accounts *memo[string]
	images   *memo[types.Image]
	subnets  *memo[types.Subnet]
	groups   *memo[[]string]
	zones    *memo[string] // their types
	types    *memo[types.InstanceTypeInfo]
	domains  *memo[[]string]   // of networks
	members  *memo[membership] // of load balancers
	hosts    *memo[struct{}]   // those whose tag was written
	refusals *memo[error]      // of tags
	sights   sights
	released counts // hosts of machines that were not used
}

// sights are what was seen just now, so that it need not be looked for again.
type sights struct {
	absent  *memo[struct{}] // machines of which nothing was there
	tried   *memo[struct{}] // machines for which something may have been made
	leaving *memo[struct{}] // instances that were shutting down
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
		accounts: newMemo[string](clock, 100*365*aDay),
		images:   newMemo[types.Image](clock, aWhile),
		subnets:  newMemo[types.Subnet](clock, aWhile),
		groups:   newMemo[[]string](clock, aWhile),
		zones:    newMemo[string](clock, aDay),
		types:    newMemo[types.InstanceTypeInfo](clock, aDay),
		domains:  newMemo[[]string](clock, time.Hour),
		members:  newMemo[membership](clock, aMinute),
		hosts:    newMemo[struct{}](clock, aDay),
		refusals: newMemo[error](clock, 2*aWhile),
		sights: sights{
			absent:  newMemo[struct{}](clock, readLag/2),
			tried:   newMemo[struct{}](clock, 2*readLag),
			leaving: newMemo[struct{}](clock, aMoment),
		},
	}, nil
}

// account is the number of the account.
func (c *client) account(ctx context.Context) (string, error) {
	return c.accounts.get(ctx, "", func(ctx context.Context) (string, error) {
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
