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

// client is an account in a region, with cached answers.
type client struct {
	ec2   *ec2.Client
	elb   *elb.Client
	elbv2 *elbv2.Client
	sts   *sts.Client

	descriptions batch[types.Instance]
	terminations batch[types.InstanceStateChange]
	tags         batch[struct{}]

	accounts *kit.Memo[string]
	images   *kit.Memo[types.Image]
	subnets  *kit.Memo[types.Subnet]
	groups   *kit.Memo[[]string]
	zones    *kit.Memo[string] // their types
	types    *kit.Memo[types.InstanceTypeInfo]
	domains  *kit.Memo[[]string]   // of networks
	members  *kit.Memo[membership] // of load balancers
	hosts    *kit.Memo[struct{}]   // those whose tag was written
	refusals *kit.Refusals         // of tags
	observed observations
	past     past
}

// observations are recent observations, so that they need not be repeated.
type observations struct {
	absent  *kit.Memo[struct{}] // machines without an instance
	tried   *kit.Memo[struct{}] // machines for which an instance may have been created
	leaving *kit.Memo[struct{}] // instances that were shutting down
}

// past are earlier operations and observations that AWS does not report any more, or not yet.
type past struct {
	tokens   tokens               // of launches
	released counts               // unused hosts of machines
	profiles *kit.Memo[time.Time] // the time of the first refusal of instance profiles
	assigned *kit.Memo[int32]     // the number of IPv6 prefixes of network interfaces
	domains  *kit.Memo[[]string]  // of networks, as last read
	lived    *kit.Memo[[]string]  // the former addresses of a UID's instances, if load balancers may have them
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

// How long answers are cached. The result of filters changes when users create a new image or network; that
// of an ID does not.
const (
	aWhile  = 5 * time.Minute
	aDay    = 24 * time.Hour
	aMinute = time.Minute
	aMoment = 2 * time.Second
)

func newClient(ctx context.Context, clock provider.Clock, secret map[string][]byte, p location) (*client, error) {
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
		refusals: kit.NewRefusals(clock, 2*aWhile),
		past:     newPast(clock),
		observed: observations{
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
