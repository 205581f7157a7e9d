package cloud

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// EC2 launches one instance for one token in one zone. It also remembers the token of a launch that it
// refused for lack of capacity, and refuses every other request with it. So each attempt of a machine has
// another token.

// mismatch is EC2's code for a token that was used for another request.
const mismatch = "IdempotentParameterMismatch"

// tokens are the known facts about the tokens of launches. Losing them costs [readLag].
type tokens struct {
	spent  *kit.Memo[time.Time] // when EC2 first said that a token was used for another request
	unused counts               // such tokens that created nothing
}

// launch is a launch of a machine, in a zone if that is known.
type launch struct {
	key   string // the key under which tokens are counted
	token string
}

// launch is the machine's attempt in a zone.
func (s creator) launch(c *client, ref provider.Ref, attempt int, zone string) launch {
	l := launch{token: ref.Token(s.class.Cluster)}
	if attempt > 0 {
		l.token = fmt.Sprintf("%s-%d", l.token, attempt)
	}
	l.key = zone + "/" + l.token
	if n := c.past.tokens.unused.of(l.key); n > 0 {
		l.token = fmt.Sprintf("%s.%d", l.token, n)
	}
	return l
}

// mismatched abandons a token that was used for another request, once it is certain that it created
// nothing: the class may have changed since. An instance with the token counts, whatever its owner and its
// tags.
func (s creator) mismatched(ctx context.Context, c *client, l launch, why error) error {
	now := s.provider.options.Clock.Now()
	since, err := c.past.tokens.spent.Get(ctx, l.key+" "+l.token, func(context.Context) (time.Time, error) { return now, nil })
	if err != nil || now.Sub(since) < readLag {
		return why
	}
	for _, err := range finder(s).each(ctx, c, []types.Filter{where("client-token", l.token)}) {
		if err != nil {
			return err
		}
		return why
	}
	c.past.tokens.unused.add(l.key)
	return provider.Errorf(provider.Transient, "%w; nothing was made with that token, the next launch has another", why)
}

// profileDelay is how long EC2 may not know a new instance profile.
const profileDelay = 2 * time.Minute

// retryNewProfile treats the refusal of an instance profile as temporary, for a while since the first refusal: IAM
// passes a new one to EC2 only some time after its creation.
func (s creator) retryNewProfile(ctx context.Context, c *client, p *types.IamInstanceProfileSpecification, why error) error {
	if p == nil || provider.KindOf(why) != provider.Invalid || !strings.Contains(why.Error(), "Invalid IAM Instance Profile") {
		return why
	}
	now := s.provider.options.Clock.Now()
	since, err := c.past.profiles.Get(ctx, profileKey(p), func(context.Context) (time.Time, error) { return now, nil })
	if err != nil || now.Sub(since) < profileDelay {
		return provider.Errorf(provider.Transient, "%w", why)
	}
	return why
}

func profileKey(p *types.IamInstanceProfileSpecification) string {
	return deref(p.Name) + " " + deref(p.Arn)
}
