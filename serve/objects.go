package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

// objects reads objects of the control cluster for a provider, and keeps some there.
// They are read from the API server, and not watched: there are few of them, of kinds
// that only the provider knows. It is safe for concurrent use.
type objects struct {
	client client.Client
	clock  provider.Clock

	mu   sync.Mutex
	seen map[provider.ObjectRef]object
}

type object struct {
	raw []byte
	at  time.Time
}

const (
	// objectAge is how long an object is taken to be as it was read: a rotation is
	// noticed after that, at the next pass.
	objectAge = 30 * time.Second
	// objectTimeout is how long the API server may take.
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

// Object implements [provider.Objects].
func (o *objects) Object(ctx context.Context, ref provider.ObjectRef) ([]byte, error) {
	if raw, ok := o.lately(ref); ok {
		return raw, nil
	}
	at := o.clock.Now()
	raw, err := o.read(ctx, ref)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[ref] = object{raw: raw, at: at}
	return raw, nil
}

func (o *objects) lately(ref provider.ObjectRef) ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	maps.DeleteFunc(o.seen, func(_ provider.ObjectRef, s object) bool { return now.Sub(s.at) >= objectAge })
	s, ok := o.seen[ref]
	return s.raw, ok
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
