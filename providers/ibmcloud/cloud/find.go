package cloud

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// all yields the instances of the region, page by page: VPC cannot filter by the names of an instance's
// parts. Not only those of the spec's VPC: a spec may have changed since the instance was created.
func (s finder) all(ctx context.Context, c *client) iter.Seq2[*instance, error] {
	return func(yield func(*instance, error) bool) {
		for i, err := range pages[*instance](ctx, c, "instances", c.vpc(http.MethodGet, "/instances")) {
			if err != nil {
				yield(nil, s.observe("list the instances of region "+c.region, err))
				return
			}
			if i != nil && !yield(i, nil) {
				return
			}
		}
	}
}

// inRegion is a whole listing of the region. Concurrent callers share one.
func (s finder) inRegion(ctx context.Context, c *client) ([]*instance, error) {
	return kit.Share(ctx, &c.reads, c.region, func(ctx context.Context) (all []*instance, err error) {
		for i, err := range s.all(ctx, c) {
			if err != nil {
				return nil, err
			}
			all = append(all, i)
		}
		return all, nil
	})
}

// one is the instance with an ID; nil if the region has none.
func (s finder) one(ctx context.Context, c *client, id string) (*instance, error) {
	var i instance
	err := c.call(ctx, c.vpc(http.MethodGet, "/instances/"+url.PathEscape(id)), &i)
	switch {
	case is(err, http.StatusNotFound):
		return nil, nil
	case err != nil:
		return nil, s.observe("read instance "+id, err)
	case i.ID != id:
		return nil, provider.Errorf(provider.Transient, "read instance %s: the answer has another instance", id)
	}
	return &i, nil
}

// found is the result of a search.
type found struct {
	// instances are those that may be the machine's.
	instances []provider.Instance
	// used are the names of all other instances of the region.
	used map[string]bool
}

// Find implements [provider.Session]. If the machine's provider ID names its instance, that is one call.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.on(ctx)
	if err != nil {
		return nil, err
	}
	if id := idOf(ref.ProviderID); id != "" && ref.UID != "" {
		i, err := finder{s}.one(ctx, c, id)
		if err != nil {
			return nil, err
		}
		if i != nil && marksOf(i).uid == ref.UID && (finder{s}).matches(i, ref) {
			out, err := finder{s}.toInstance(ctx, c, i)
			return []provider.Instance{out}, err
		}
	}
	v, err := finder{s}.find(ctx, c, ref)
	return v.instances, err
}

// find searches the whole region.
func (s finder) find(ctx context.Context, c *client, ref provider.Ref) (v found, err error) {
	all, err := s.inRegion(ctx, c)
	if err != nil {
		return v, err
	}
	v.used = map[string]bool{}
	for _, i := range all {
		if !s.matches(i, ref) {
			v.used[i.Name] = true
			continue
		}
		out, err := s.toInstance(ctx, c, i)
		if err != nil {
			return v, err
		}
		v.instances = append(v.instances, out)
	}
	return v, nil
}

// matches reports whether an instance may be ref's: by its UID, by the provider ID or, where it has no UID,
// by its name.
func (s finder) matches(i *instance, ref provider.Ref) bool {
	m := marksOf(i)
	if !ownership(s).inScope(i, m, ref.ProviderID) {
		return false
	}
	own, named := m.uid == ref.UID && m.uid != "", m.uid == "" && ref.Name != "" && i.Name == ref.Name
	return own || named || i.ID == idOf(ref.ProviderID)
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.on(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for i, err := range (finder{s}).all(ctx, c) {
			var out provider.Instance
			if err == nil && !(ownership{s}).inScope(i, marksOf(i), "") {
				continue
			}
			if err == nil {
				out, err = finder{s}.toInstance(ctx, c, i)
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}
