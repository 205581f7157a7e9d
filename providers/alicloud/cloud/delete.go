package cloud

import (
	"context"
	"slices"
	"strings"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. ECS deletes disks and network interfaces with their instance, unless
// the spec preserves them.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	regions := make([]string, 0, len(instances)+1)
	for _, i := range instances {
		regions = append(regions, i.Region)
	}
	c, err := s.on(ctx, append(regions, regionIn(ref.ProviderID))...)
	if err != nil {
		return false, s.observe("open the account", err)
	}
	if left, err := (deleter{s}).begin(ctx, c, instances); left || err != nil {
		return false, err
	}
	doomed, err := deleter{s}.toDelete(ctx, c, ref, instances)
	if err != nil {
		return false, err
	}
	left, err := deleter{s}.release(ctx, c, doomed, instances)
	return !left && err == nil, err
}

// begin releases given instances that are on or off, and reports whether an instance certainly remains. It
// does not search: other instances of the machine are searched after the end of these.
func (s deleter) begin(ctx context.Context, c *client, given []provider.Instance) (left bool, err error) {
	for _, g := range given {
		if _, leaving := c.observed.leaving.Recall(g.ID); leaving || g.State != provider.Running && g.State != provider.Stopped {
			continue
		}
		going, err := s.releaseOne(ctx, c, g.ID)
		if err != nil {
			return true, err
		}
		left = left || going
	}
	return left, nil
}

// toDelete are the instances to delete, as ECS shows them: the given ones, and those with the machine's UID.
func (s deleter) toDelete(ctx context.Context, c *client, ref provider.Ref, given []provider.Instance) (out []*vm, err error) {
	var requests []*ecs.DescribeInstancesRequest
	if ref.UID != "" {
		requests = append(requests, withTags(map[string]string{uidTag: ref.UID}))
	}
	var others []string
	for _, g := range given {
		if g.UID != ref.UID || ref.UID == "" {
			others = append(others, g.ID)
		}
	}
	if len(others) > 0 {
		requests = append(requests, withIDs(others...))
	}
	for n, request := range requests {
		byUID := n == 0 && ref.UID != ""
		for i, err := range finder(s).each(ctx, c, request) {
			if err != nil {
				return nil, err
			}
			if tags := mapOf(i); !byUID || tags[uidTag] == ref.UID && (ownership(s).inScope(tags) || ownership(s).unscoped()) {
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// release releases instances, and reports whether any remains. ECS releases only instances that are on or
// off: those in another state are released by a later call. A given instance that ECS does not show is too
// new to be visible, or deleted, which is certain after an accepted deletion.
func (s deleter) release(ctx context.Context, c *client, seen []*vm, given []provider.Instance) (left bool, err error) {
	var ids []string
	for _, i := range seen {
		id := deref(i.InstanceId)
		_, leaving := c.observed.leaving.Recall(id)
		if status := deref(i.Status); leaving || status != running && status != stopped {
			left = true
			continue
		}
		ids = append(ids, id)
	}
	for _, g := range given {
		_, leaving := c.observed.leaving.Recall(g.ID)
		if !leaving && !slices.ContainsFunc(seen, func(i *vm) bool { return deref(i.InstanceId) == g.ID }) {
			ids = append(ids, g.ID)
		}
	}
	for _, id := range ids {
		going, err := s.releaseOne(ctx, c, id)
		if err != nil {
			return true, err
		}
		left = left || going
	}
	return left, nil
}

// missingInstance is the begin of codes for an instance that does not exist.
const missingInstance = "InvalidInstanceId"

// notReleasable is the begin of codes for an instance whose state does not allow its release yet.
const notReleasable = "IncorrectInstanceStatus"

// releaseOne releases an instance, and reports whether it remains for now. An instance that does not exist
// does not remain.
func (s deleter) releaseOne(ctx context.Context, c *client, id string) (left bool, err error) {
	_, err = call(ctx, c, (*ecs.Client).DeleteInstanceWithContext, &ecs.DeleteInstanceRequest{InstanceId: &id, Force: dara.Bool(true)})
	switch code := codeOf(err); {
	case strings.HasPrefix(code, missingInstance):
		return false, nil
	case strings.HasPrefix(code, notReleasable):
		return true, nil
	case err != nil:
		return true, s.observe("delete instance "+id, err)
	}
	c.observed.leaving.Put(id, struct{}{})
	return true, nil
}
