package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// mostOnPage is the most that Compute Cloud puts on a page.
const mostOnPage = 1000

// all yields the instances of the folder, page by page: Compute Cloud cannot filter by labels.
func (s finder) all(ctx context.Context, c *client) iter.Seq2[*compute.Instance, error] {
	return func(yield func(*compute.Instance, error) bool) {
		in := &compute.ListInstancesRequest{FolderId: c.folder, PageSize: mostOnPage}
		for {
			page, err := c.instances.List(ctx, in)
			if err != nil {
				yield(nil, s.observe("list the instances of folder "+c.folder, err))
				return
			}
			for _, i := range page.GetInstances() {
				if !yield(i, nil) {
					return
				}
			}
			next := page.GetNextPageToken()
			if next == "" {
				return
			}
			if next == in.PageToken { // else the listing would never end
				yield(nil, provider.Errorf(provider.Transient, "list the instances of folder %s: Compute Cloud names the same page twice", c.folder))
				return
			}
			in.PageToken = next
		}
	}
}

// folder is a whole listing of the folder. Concurrent callers share one.
func (s finder) folder(ctx context.Context, c *client) ([]*compute.Instance, error) {
	return kit.Share(ctx, &c.reads, c.folder, func(ctx context.Context) (all []*compute.Instance, err error) {
		for i, err := range s.all(ctx, c) {
			if err != nil {
				return nil, err
			}
			all = append(all, i)
		}
		return all, nil
	})
}

// one is the instance with an ID; nil if the folder has none.
func (s finder) one(ctx context.Context, c *client, id string) (*compute.Instance, error) {
	i, err := c.instances.Get(ctx, &compute.GetInstanceRequest{InstanceId: id})
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil:
		return nil, s.observe("read instance "+id, err)
	case i.GetFolderId() != c.folder:
		return nil, nil
	}
	return i, nil
}

// found is the result of a search.
type found struct {
	// instances are those that may be the machine's.
	instances []provider.Instance
	// taken are the names of all other instances of the folder.
	taken map[string]bool
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	if id := idOf(ref.ProviderID); id != "" && ref.UID != "" {
		i, err := finder{s}.one(ctx, c, id)
		if err != nil {
			return nil, err
		}
		if i != nil && i.GetLabels()[uidLabel] == ref.UID && (finder{s}).matches(i, ref) {
			return []provider.Instance{finder{s}.toInstance(c, i)}, nil
		}
	}
	v, err := finder{s}.find(ctx, c, ref)
	return v.instances, err
}

// find searches the whole folder. If no instance is visible yet, a creation of this process shows whether
// there will be one.
func (s finder) find(ctx context.Context, c *client, ref provider.Ref) (v found, err error) {
	all, err := s.folder(ctx, c)
	if err != nil {
		return v, err
	}
	v.taken = map[string]bool{}
	for _, i := range all {
		if s.matches(i, ref) {
			v.instances = append(v.instances, s.toInstance(c, i))
		} else {
			v.taken[i.GetName()] = true
		}
	}
	if len(v.instances) > 0 {
		c.created.Forget(s.machineToken(ref)) // it is visible
		return v, nil
	}
	i, ok, err := creator(s).pending(ctx, c, ref)
	if ok {
		v.instances = append(v.instances, i)
	}
	return v, err
}

// matches reports whether an instance may be ref's: by its UID, by the provider ID or, where it has no UID,
// by its name.
func (s finder) matches(i *compute.Instance, ref provider.Ref) bool {
	labels := i.GetLabels()
	uid := labels[uidLabel]
	own, named := uid == ref.UID && uid != "", uid == "" && ref.Name != "" && i.GetName() == ref.Name
	switch {
	case ownership(s).inScope(labels):
		return own || named || i.GetId() == idOf(ref.ProviderID)
	case ownership(s).unscoped():
		return own || named
	}
	return false
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.client(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for i, err := range (finder{s}).all(ctx, c) {
			switch {
			case err != nil:
				yield(provider.Instance{}, err)
				return
			case !ownership{s}.listed(i.GetLabels()):
			case !yield(finder{s}.toInstance(c, i), nil):
				return
			}
		}
	}
}

// scopeName has the labels by which instances are listed. Zones and sizes are no part of it.
func (s ownership) scopeName() string {
	labels := s.ownershipLabels()
	for key := range labels {
		labels[key] = ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", labels)) // maps are printed in order
	return hex.EncodeToString(sum[:8])
}
