package cloud

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// mostUserData is ECS's limit in bytes, before encoding.
const mostUserData = 32 << 10

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.plan == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to create an instance from")
	}
	if err := s.plan.accepts(want.Choice); err != nil {
		return provider.Instance{}, err
	}
	if n := len(want.UserData); n > mostUserData {
		return provider.Instance{}, provider.InvalidField(s.plan.names[ofUserData], "the user data has %d bytes, and ECS accepts %d at most: let it fetch the rest from elsewhere", n, mostUserData)
	}
	c, err := s.on(ctx)
	if err != nil {
		return provider.Instance{}, s.observe("open the account", err)
	}
	if !(finder{s}).absent(c, ref) {
		found, err := finder{s}.find(ctx, c, ref)
		if err != nil {
			return provider.Instance{}, err
		}
		if one, ok := (finder{s}).best(c, found); ok {
			return one, nil
		}
	}
	c.observed.absent.Forget(finder{s}.absenceOf(ref))
	c.observed.tried.Put(finder{s}.absenceOf(ref), struct{}{})
	return creator{s}.run(ctx, c, ref, want)
}

// best is the instance that represents the found ones: the oldest.
func (s finder) best(c *client, found []*vm) (provider.Instance, bool) {
	all := make([]provider.Instance, 0, len(found))
	for _, i := range found {
		all = append(all, s.toInstance(c, i))
	}
	existing := provider.Existing(all)
	if len(existing) == 0 {
		return provider.Instance{}, false
	}
	return existing[0], true
}

// run creates the instance. For the same token ECS answers with the instance that it has created before.
func (s creator) run(ctx context.Context, c *client, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	in, err := s.plan.request(ctx, lookup{client: c, names: s.names}, ref.Name)
	if err != nil {
		return provider.Instance{}, s.observe("prepare the instance", err)
	}
	tags, token := ownership(s).tagsOf(ref, want.Role), s.token(c, ref, want.Attempt)
	in.RegionId, in.Amount, in.InstanceName, in.ClientToken, in.Tag = &c.region, dara.Int32(1), instanceName(ref.Name), &token, runTags(tags)
	if s.class.API == provider.OpenShift {
		in.MinAmount = dara.Int32(1)
	}
	if len(want.UserData) > 0 {
		in.UserData = dara.String(base64.StdEncoding.EncodeToString(want.UserData))
	}
	out, err := call(ctx, c, (*ecs.Client).RunInstancesWithContext, in)
	if err != nil {
		why := s.observe("create an instance", err)
		if code := codeOf(err); code == mismatch || code == otherMismatch {
			return provider.Instance{}, s.mismatched(ctx, c, ref, token, why)
		}
		return provider.Instance{}, why
	}
	if out.Body == nil || out.Body.InstanceIdSets == nil || len(out.Body.InstanceIdSets.InstanceIdSet) == 0 {
		return provider.Instance{}, provider.Errorf(provider.Transient, "ECS created an instance, and its answer does not name the instance")
	}
	return s.created(c, deref(out.Body.InstanceIdSets.InstanceIdSet[0]), ref, in, tags), nil
}

// created describes a new instance by its request: the answer has its ID only.
func (s creator) created(c *client, id string, ref provider.Ref, in *ecs.RunInstancesRequest, tags map[string]string) provider.Instance {
	return provider.Instance{
		ID: id, UID: ref.UID, Name: ref.Name, Owner: tags[ownerTag], Namespace: ref.Namespace, ProviderID: finder(s).providerID(c.region, id), NodeName: finder(s).nodeName(id),
		State: provider.Pending, RawState: pending, Type: deref(in.InstanceType), Region: c.region, Zone: deref(in.ZoneId), Interruptible: s.plan.spot,
		Created: s.provider.options.Clock.Now().Truncate(time.Minute), Tags: tags,
	}
}

// The codes of ECS for a token that was used for another request.
const (
	mismatch      = "IdempotentParameterMismatch"
	otherMismatch = "IdempotenceParamNotMatch"
)

// tokens are the known facts about the tokens of creations. Losing them costs [tokenDoubt].
type tokens struct {
	spent *kit.Memo[time.Time] // when ECS first answered that a token was used for another request

	mu     sync.Mutex
	unused map[string]int // how many tokens of an attempt were used for other requests and created nothing
}

// token is the token of a machine's attempt. ECS does not document whether it remembers the token of a
// refused request: each attempt has another token.
func (s creator) token(c *client, ref provider.Ref, attempt int) string {
	token := ref.Token(s.class.Cluster)
	if attempt > 0 {
		token = fmt.Sprintf("%s-%d", token, attempt)
	}
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	if n := c.tokens.unused[token]; n > 0 {
		return fmt.Sprintf("%s.%d", token, n)
	}
	return token
}

// tokenDoubt is how long an instance that was created with a token may not be visible.
const tokenDoubt = 2 * readLag

// mostUnused is the number of tokens at which all counts are forgotten.
const mostUnused = 10_000

// mismatched abandons a token that was used for another request, once it is certain that it created
// nothing: the class may have changed since. An instance of the machine was searched before each call.
func (s creator) mismatched(ctx context.Context, c *client, ref provider.Ref, token string, why error) error {
	now := s.provider.options.Clock.Now()
	since, err := c.tokens.spent.Get(ctx, token, func(context.Context) (time.Time, error) { return now, nil })
	if err != nil || now.Sub(since) < tokenDoubt {
		return why
	}
	found, err := finder(s).find(ctx, c, ref)
	if err != nil || len(found) > 0 {
		return why
	}
	c.tokens.mu.Lock()
	defer c.tokens.mu.Unlock()
	if c.tokens.unused == nil || len(c.tokens.unused) > mostUnused {
		c.tokens.unused = map[string]int{}
	}
	attempt, _, _ := strings.Cut(token, ".")
	c.tokens.unused[attempt]++
	return provider.Errorf(provider.Transient, "%w; no instance was created with that token, the next request has another", why)
}
