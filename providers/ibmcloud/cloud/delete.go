package cloud

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. VPC deletes network interfaces, addresses and the boot volume with
// their instance.
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	regions := make([]string, 0, len(given))
	for _, g := range given {
		regions = append(regions, g.Region)
	}
	c, err := s.on(ctx, regions...)
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
	return !left, nil
}

// doomed are the instances to delete: the given ones, and those with the machine's UID. A given instance that
// no listing shows is too new to be visible, or deleted, which is certain after an accepted deletion.
func (s deleter) doomed(ctx context.Context, c *client, ref provider.Ref, given []provider.Instance) (out []provider.Instance, err error) {
	all, err := finder(s).inRegion(ctx, c)
	if err != nil {
		return nil, err
	}
	isGiven := func(id string) bool {
		return slices.ContainsFunc(given, func(g provider.Instance) bool { return g.ID == id })
	}
	seen := map[string]bool{}
	for _, i := range all {
		m := marksOf(i)
		if own := ref.UID != "" && m.uid == ref.UID && ownership(s).inScope(i, m, ""); !own && !isGiven(i.ID) {
			continue
		}
		seen[i.ID] = true
		one, err := finder(s).toInstance(ctx, c, i)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	for _, g := range given {
		if _, leaving := c.leaving.Recall(g.ID); !seen[g.ID] && !leaving {
			out = append(out, g)
		}
	}
	return out, nil
}

// delete deletes an instance, unless that has begun, and reports whether it remains for now. VPC deletes no
// instance that is pending, starting, stopping or restarting: those are deleted by a later call.
func (s deleter) delete(ctx context.Context, c *client, i provider.Instance) (remains bool, err error) {
	if i.State == provider.Stopping {
		return true, nil
	}
	err = c.call(ctx, c.vpc(http.MethodDelete, "/instances/"+url.PathEscape(i.ID)), nil)
	switch {
	case is(err, http.StatusNotFound):
		return false, nil
	case is(err, http.StatusConflict):
		return true, nil
	case err != nil:
		return true, s.observe("delete instance "+i.ID, err)
	}
	c.leaving.Put(i.ID, struct{}{})
	return true, nil
}
