package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// objects reads and stores objects of the control cluster for a provider. It reads them from the API server without a
// watch, because they are few and only the provider knows their kinds. It is safe for concurrent use.
type objects struct {
	client client.Client
	clock  provider.Clock
	reads  kit.SharedReads

	mu   sync.Mutex
	seen map[provider.ObjectRef]object
	// changes counts the changes by this process. The result of a read that began before a change may be older.
	changes int
}

// object is the result of a read. If absent is an error, the object did not exist.
type object struct {
	raw    []byte
	absent error
	at     time.Time
}

func (o object) old(now time.Time) bool {
	if o.absent != nil {
		return now.Sub(o.at) >= absenceAge
	}
	return now.Sub(o.at) >= objectAge
}

const (
	// objectAge is how long the result of a read is valid. The next reconcile after this time detects a rotation.
	objectAge = 30 * time.Second
	// absenceAge is how long the absence of an object is valid. It limits discovery: if the API server does not serve
	// the kind, each read of the client discovers all kinds again, one caller after the other.
	absenceAge = 10 * time.Second
	// objectTimeout limits the time of one request to the API server.
	objectTimeout = 10 * time.Second
)

var _ provider.Objects = &objects{}

func objectsOf(process *run.Process) (*objects, error) {
	c, err := client.New(process.Control, client.Options{Scheme: run.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the control cluster: %w", err)
	}
	return newObjects(c, process.Clock), nil
}

func newObjects(c client.Client, clock provider.Clock) *objects {
	return &objects{client: c, clock: clock, seen: map[provider.ObjectRef]object{}}
}

// Object implements [provider.Objects]. Concurrent calls share one read.
func (o *objects) Object(ctx context.Context, ref provider.ObjectRef) ([]byte, error) {
	s, ok := o.lately(ref)
	if !ok {
		var err error
		if s, err = kit.Share(ctx, &o.reads, fmt.Sprintf("%q", ref), func(ctx context.Context) (object, error) { return o.look(ctx, ref) }); err != nil {
			return nil, err
		}
	}
	return s.raw, s.absent
}

// look reads an object, unless another call has just read it, and stores the result.
func (o *objects) look(ctx context.Context, ref provider.ObjectRef) (s object, err error) {
	if s, ok := o.lately(ref); ok {
		return s, nil
	}
	changes := o.changed()
	s.at = o.clock.Now()
	s.raw, err = o.read(ctx, ref)
	if errors.Is(err, provider.ErrNoObject) {
		s.absent, err = err, nil
	}
	if err != nil {
		return s, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changes == changes {
		o.seen[ref] = s
	}
	return s, nil
}

func (o *objects) changed() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changes
}

func (o *objects) lately(ref provider.ObjectRef) (object, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	maps.DeleteFunc(o.seen, func(_ provider.ObjectRef, s object) bool { return s.old(now) })
	s, ok := o.seen[ref]
	return s, ok
}

// forget removes the result of a read, because this process changed the object.
func (o *objects) forget(ref provider.ObjectRef) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, ref)
	o.changes++
}

func (o *objects) read(ctx context.Context, ref provider.ObjectRef) ([]byte, error) {
	u, err := unknown(ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	if err := answered("read", u, o.client.Get(ctx, client.ObjectKeyFromObject(u), u)); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return raw, nil
}
