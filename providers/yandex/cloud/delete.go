package cloud

import (
	"context"
	"slices"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. Compute Cloud deletes network interfaces with their instance, and a
// disk as well if the spec says so.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.client(ctx)
	if err != nil {
		return false, err
	}
	doomed, err := deleter{s}.doomed(ctx, c, ref, given)
	if err != nil {
		return false, err
	}
	left := false
	for _, i := range doomed {
		remains, err := deleter{s}.delete(ctx, c, i)
		if err != nil {
			return false, err
		}
		left = left || remains
	}
	if left || ref.UID == "" {
		return !left, nil
	}
	i, ok, err := creator{s}.pending(ctx, c, ref)
	if err != nil || ok && i.Exists() {
		return false, err
	}
	c.created.Forget(s.machineToken(ref))
	return true, nil
}

// doomed are the instances to delete: the given ones, and those with the machine's UID. A given instance that
// no listing shows is too new to be visible, or deleted, which is certain after an accepted deletion.
func (s deleter) doomed(ctx context.Context, c *client, ref provider.Ref, given []provider.Instance) (out []provider.Instance, err error) {
	all, err := finder(s).folder(ctx, c)
	if err != nil {
		return nil, err
	}
	isGiven := func(id string) bool {
		return slices.ContainsFunc(given, func(g provider.Instance) bool { return g.ID == id })
	}
	seen := map[string]bool{}
	for _, i := range all {
		labels := i.GetLabels()
		own := ref.UID != "" && labels[uidLabel] == ref.UID && (ownership(s).inScope(labels) || ownership(s).unscoped())
		if own {
			c.created.Forget(s.machineToken(ref)) // it is visible
		}
		if own || isGiven(i.GetId()) {
			seen[i.GetId()] = true
			out = append(out, finder(s).toInstance(c, i))
		}
	}
	for _, g := range given {
		if _, leaving := c.leaving.Recall(g.ID); !seen[g.ID] && !leaving {
			out = append(out, g)
		}
	}
	return out, nil
}

// delete deletes an instance, unless that has begun, and reports whether it remains for now.
func (s deleter) delete(ctx context.Context, c *client, i provider.Instance) (remains bool, err error) {
	if i.State == provider.Stopping {
		return true, nil
	}
	_, err = c.instances.Delete(ctx, &compute.DeleteInstanceRequest{InstanceId: i.ID})
	switch code := status.Code(err); {
	case code == codes.NotFound:
		return false, nil
	case code == codes.FailedPrecondition && i.State == provider.Pending: // it is still being created
		return true, nil
	case err != nil:
		return true, s.observe("delete instance "+i.ID, err)
	}
	c.leaving.Put(i.ID, struct{}{})
	return true, nil
}
