package remote

import (
	"context"
	"errors"
	"sync"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// Objects is the [provider.Objects] of a served provider: it reads the objects that came with the request.
// The provider needs no permissions in the cluster that holds the machines. A missing object is requested,
// and the class opened again with it.
type Objects struct{}

var _ provider.Objects = Objects{}

type broughtKey struct{}

// brought are the objects of one request.
type brought struct {
	have map[provider.ObjectRef]*wire.Object

	mu    sync.Mutex
	needs []provider.ObjectRef
}

func bring(ctx context.Context, objects []*wire.Object) (context.Context, *brought) {
	b := &brought{have: map[provider.ObjectRef]*wire.Object{}}
	for _, o := range objects {
		b.have[toObjectRef(o.GetRef())] = o
	}
	return context.WithValue(ctx, broughtKey{}, b), b
}

var errNeeded = errors.New("the object has not come with the request: it is asked for")

// Object implements [provider.Objects].
func (Objects) Object(ctx context.Context, ref provider.ObjectRef) ([]byte, error) {
	b, ok := ctx.Value(broughtKey{}).(*brought)
	if !ok {
		return nil, errors.New("objects are read while a class is opened, with the context of that")
	}
	o, ok := b.have[ref]
	switch {
	case !ok:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.needs = append(b.needs, ref)
		return nil, errNeeded
	case o.GetMissing():
		return nil, provider.ErrNoObject
	}
	return o.GetJson(), nil
}

func (b *brought) missing() []provider.ObjectRef {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.needs
}

// neededError says that a class cannot be opened without further objects.
type neededError struct{ refs []provider.ObjectRef }

func (e *neededError) Error() string { return "the class is opened from further objects" }
