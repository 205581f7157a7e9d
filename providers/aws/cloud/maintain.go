package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer]. An instance does not show its load balancers.
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return s.plan != nil && (len(s.plan.balancers) > 0 || len(ownership{s}.missingTags(ref, i)) > 0)
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	c, err := s.on(ctx)
	if err != nil {
		return s.observe("open the account", err)
	}
	return errors.Join(ownership{s}.restoreTags(ctx, c, i.ID, ownership{s}.missingTags(ref, i)), loadBalancers{s}.join(ctx, c, ref, i.ID))
}

// missingTags are the missing or changed tags of an instance: those of the spec, of the cluster, of ownership,
// and of the machine. The recorded owner is never changed.
func (s ownership) missingTags(ref provider.Ref, i provider.Instance) map[string]string {
	want := s.userTags(s.plan.tags)
	maps.Copy(want, s.ownershipTags())
	maps.DeleteFunc(want, func(key, value string) bool {
		other, there := i.Tags[key]
		return there && (other == value || key == s.clusterKey() && slices.Contains([]string{owned, oneTag}, other))
	})
	for key, value := range map[string]string{nameTag: ref.Name, uidTag: ref.UID, namespaceTag: ref.Namespace, ownerTag: s.class.Owner} {
		if value != "" && i.Tags[key] == "" {
			want[key] = value
		}
	}
	if ref.Name != "" && i.Tags[nameTag] != ref.Name && i.UID == ref.UID {
		want[nameTag] = ref.Name
	}
	return want
}

// restoreTags writes tags. After a final refusal it tries again only after a while.
func (s ownership) restoreTags(ctx context.Context, c *client, id string, tags map[string]string) error {
	if len(tags) == 0 {
		return nil
	}
	return c.refusals.Try(ctx, id+fmt.Sprint(tags), func(ctx context.Context) error {
		return classify("write tags of "+id, s.writeTags(ctx, c, id, tags), s.plan.names)
	})
}

// writeTags writes tags of an instance, together with other instances that lack the same. If EC2 refuses that
// for one of them, each gets its own request.
func (s ownership) writeTags(ctx context.Context, c *client, id string, tags map[string]string) error {
	request := func(ctx context.Context, ids []string) ([]struct{}, error) {
		_, err := c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: listed(tags)})
		if err != nil {
			return nil, &refusedError{ids: len(ids), err: err}
		}
		return nil, nil
	}
	_, err := c.tags.ask(ctx, fmt.Sprint(tags), id, request)
	if r, ok := errors.AsType[*refusedError](err); ok && r.ids > 1 && ofOne(codeOf(err)) {
		_, err = request(ctx, []string{id})
	}
	return err
}

// ofOne reports whether a code may be about one of several instances.
func ofOne(code string) bool {
	return slices.Contains([]string{"InvalidInstanceID.NotFound", "InvalidID", "TagLimitExceeded"}, code)
}

// join registers a running instance with load balancers. It reads the instance first: its address may have
// changed.
func (s loadBalancers) join(ctx context.Context, c *client, ref provider.Ref, id string) error {
	if len(s.plan.balancers) == 0 {
		return nil
	}
	all, err := finder(s).by(ctx, c, "instance-id", id, finder(s).scopeOf(true))
	if err != nil {
		return err
	}
	n := slices.IndexFunc(all, func(i types.Instance) bool {
		return deref(i.InstanceId) == id && stateOf(i) == types.InstanceStateNameRunning
	})
	if n < 0 {
		return provider.Errorf(provider.Conflict, "instance %s of machine %s does not run", id, ref.Name)
	}
	s.remember(c, ref.UID, all[n])
	var errs []error
	for _, b := range s.plan.balancers {
		errs = append(errs, s.register(ctx, c, all[n], b))
	}
	return errors.Join(errs...)
}
