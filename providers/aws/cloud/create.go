package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// regionInID matches the region in the provider IDs of both APIs: a region is the prefix of its zones'
// names.
var regionInID = regexp.MustCompile(`^aws:///?([a-z]{2}(?:-[a-z]+)+-\d+)[^/]*/i-[0-9a-f]+$`)

func compare(a, b string) int { return strings.Compare(a, b) }

// literal escapes a text for filters of EC2.
func literal(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(text)
}

// mostUserData is EC2's limit in bytes, before encoding.
const mostUserData = 16 << 10

// Create implements [provider.Session].
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.plan == nil {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to make an instance of")
	}
	zone, err := s.plan.zoneOf(want.Choice)
	if err != nil {
		return provider.Instance{}, err
	}
	if n := len(want.UserData); n > mostUserData {
		return provider.Instance{}, provider.InvalidField(s.plan.names[ofUserData], "the user data has %d bytes, and EC2 takes %d at most: let it fetch the rest from elsewhere", n, mostUserData)
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
		if one, ok, err := (finder{s}).best(ctx, c, found); ok || err != nil {
			return one, err
		}
	}
	c.observed.absent.Forget(finder{s}.absenceOf(ref))
	c.observed.tried.Put(finder{s}.absenceOf(ref), struct{}{})
	made, err := creator{s}.run(ctx, c, ref, want, zone)
	if err != nil {
		return provider.Instance{}, narrowed(zone, err)
	}
	told, _ := finder{s}.toInstance(ctx, c, made) // it exists, whatever else is not known: Find reports the rest
	return told, nil
}

// narrowed limits a shortage in an unknown zone to the choice: other subnets may be in other zones.
func narrowed(zone string, err error) error {
	if e, ok := errors.AsType[*provider.Error](err); ok && zone == "" && e.Kind == provider.Exhausted && e.Scope == provider.ScopeZone {
		narrow := *e
		narrow.Scope = provider.ScopeType
		return &narrow
	}
	return err
}

// best is the instance that represents the found ones: the oldest existing one, or else one that has ended,
// after which the machine gets no other.
func (s finder) best(ctx context.Context, c *client, found []types.Instance) (provider.Instance, bool, error) {
	all := make([]provider.Instance, 0, len(found))
	for _, i := range found {
		told, err := s.toInstance(ctx, c, i)
		if err != nil {
			return provider.Instance{}, false, err
		}
		all = append(all, told)
	}
	if existing := provider.Existing(all); len(existing) > 0 {
		return existing[0], true, nil
	}
	if len(all) > 0 {
		return all[0], true, nil
	}
	return provider.Instance{}, false, nil
}

// taggedKinds are the kinds of resources that are tagged at their creation with an instance: those that the
// original of the API tags, whose permissions are enough for that.
func (s creator) taggedKinds() []types.ResourceType {
	kinds := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume}
	if s.class.API == provider.Gardener {
		kinds = append(kinds, types.ResourceTypeNetworkInterface)
	}
	return kinds
}

// run creates the instance. With the same token EC2 returns the one that it has created before.
func (s creator) run(ctx context.Context, c *client, ref provider.Ref, want provider.Want, zone string) (types.Instance, error) {
	l := s.lookup(c)
	var err error
	if l.placement, err = s.annotated(ctx, ref); err != nil {
		return types.Instance{}, err
	}
	in, err := s.plan.request(ctx, l, zone)
	if err != nil {
		return types.Instance{}, s.observe("prepare the instance", err)
	}
	tags := ownership(s).tagsOf(s.plan.tags, ref, want.Role)
	host, err := dedicatedHosts(s).hostFor(ctx, c, ref, in, zone)
	if err != nil {
		return types.Instance{}, err
	}
	if host != "" {
		tags[hostTag] = host
	}
	in.MinCount, in.MaxCount = aws.Int32(1), aws.Int32(1)
	launch := s.launch(c, ref, want.Attempt, zone)
	in.ClientToken = aws.String(launch.token)
	in.TagSpecifications = tagged(tags, s.taggedKinds()...)
	if len(want.UserData) > 0 {
		in.UserData = aws.String(base64.StdEncoding.EncodeToString(want.UserData))
	}
	out, err := c.ec2.RunInstances(ctx, in)
	if err != nil {
		why := s.observe("make an instance", err)
		if codeOf(err) == mismatch {
			why = s.mismatched(ctx, c, launch, why)
		}
		return types.Instance{}, dedicatedHosts(s).releaseUnused(ctx, c, ref, host, codeOf(err), s.retryNewProfile(ctx, c, in.IamInstanceProfile, why))
	}
	if in.IamInstanceProfile != nil {
		c.past.profiles.Forget(profileKey(in.IamInstanceProfile))
	}
	if len(out.Instances) == 0 {
		return types.Instance{}, provider.Errorf(provider.Transient, "EC2 made an instance and did not say which")
	}
	return out.Instances[0], nil
}
