package provider_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// shelf is a minimal provider: machines are slots on a shelf.
type shelf struct {
	mu    sync.Mutex
	slots []provider.Instance
}

type shelfSpec struct {
	Width int `json:"width"`
}

func (*shelf) Name() string { return "shelf" }

func (s *shelf) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	var spec shelfSpec
	if len(class.Spec) == 0 { // of a machine under deletion
		return &shelfSession{shelf: s, class: class}, nil
	}
	if err := kit.DecodeStrict(class.Spec, &spec); err != nil {
		return nil, err
	}
	if spec.Width < 1 {
		return nil, provider.InvalidField("width", "%d is less than 1", spec.Width)
	}
	return &shelfSession{shelf: s, class: class}, nil
}

type shelfSession struct {
	provider.Base
	shelf *shelf
	class provider.Class
}

// clusterTag is the ownership tag.
const clusterTag = "cluster"

// matches reports whether the instance in a slot may be ref's: it is in our cluster and has ref's UID or
// provider ID or, if another implementation created it, ref's name.
func (s *shelfSession) matches(ref provider.Ref, i provider.Instance) bool {
	if i.Tags[clusterTag] != s.class.Cluster {
		return false
	}
	return i.UID == ref.UID || i.ProviderID == ref.ProviderID || i.UID == "" && i.Name == ref.Name
}

func (s *shelfSession) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.find(ref), ctx.Err()
}

func (s *shelfSession) find(ref provider.Ref) (found []provider.Instance) {
	for _, i := range s.shelf.slots {
		if s.matches(ref, i) {
			found = append(found, i)
		}
	}
	return found
}

func (s *shelfSession) Create(ctx context.Context, ref provider.Ref, _ provider.Want) (provider.Instance, error) {
	if len(s.class.Spec) == 0 {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if found := provider.Existing(s.find(ref)); len(found) > 0 {
		return found[0], nil
	}
	if err := ctx.Err(); err != nil {
		return provider.Instance{}, err
	}
	id := ref.Token(s.class.Cluster)
	i := provider.Instance{
		ID: id, UID: ref.UID, Name: ref.Name, ProviderID: "shelf:///" + id,
		Owner: s.class.Owner, Namespace: ref.Namespace,
		State: provider.Running, Tags: map[string]string{clusterTag: s.class.Cluster},
	}
	s.shelf.slots = append(s.shelf.slots, i)
	return i, nil
}

func (s *shelfSession) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.shelf.slots = slices.DeleteFunc(s.shelf.slots, func(i provider.Instance) bool {
		ours := i.Tags[clusterTag] == s.class.Cluster && i.UID == ref.UID && ref.UID != ""
		return ours || slices.ContainsFunc(given, func(g provider.Instance) bool { return g.ID == i.ID })
	})
	return true, nil
}

func (s *shelfSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		s.shelf.mu.Lock()
		all := slices.Clone(s.shelf.slots)
		s.shelf.mu.Unlock()
		for _, i := range all {
			if i.Tags[clusterTag] == s.class.Cluster && !yield(i, nil) {
				return
			}
		}
	}
}

func Example() {
	ctx := context.Background()
	p := &shelf{}

	_, err := p.Open(ctx, provider.Class{Spec: []byte(`{"with": 3}`)})
	fmt.Println(provider.KindOf(err), "-", err)

	s, err := p.Open(ctx, provider.Class{API: provider.OpenShift, Cluster: "prod", Spec: []byte(`{"width": 3}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref := provider.Ref{UID: "a-uid", Namespace: "machines", Name: "worker-0"}
	first, _ := s.Create(ctx, ref, provider.Want{})
	again, _ := s.Create(ctx, ref, provider.Want{})
	fmt.Println("one instance:", first.ID == again.ID)

	found, _ := s.Find(ctx, ref)
	done, _ := s.Delete(ctx, ref, found)
	found, _ = s.Find(ctx, ref)
	fmt.Println("gone:", done && len(found) == 0)
	// Output:
	// Invalid - with: unknown field "with"
	// one instance: true
	// gone: true
}
