package written

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Client is the client of one pass. It enters what it writes, and reads over the
// cache what was written.
type Client struct {
	client.Client
	// Live reads from the API server itself.
	Live client.Reader
	// Writes are those of all passes, Awaited is what the owner that the pass is
	// about waits for; nil: nothing.
	Writes  *Writes
	Awaited *Awaited
	Clock   clock.PassiveClock
	// Versions, if there are any, are those of what was written.
	Versions *Versions
	// Overtaken: where the cache hides a write for too long, what somebody else wrote since
	// is shown in its place. Who decides by many objects of one cache goes by that cache.
	Overtaken bool

	mu sync.Mutex
	// hidden are the objects of which the cache showed an older version than was
	// written.
	hidden map[types.UID]struct{}
}

// Get implements [client.Reader].
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := c.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	var as client.GetOptions
	as.ApplyOptions(opts)
	c.show(o, as.UnsafeDisableDeepCopy)
	return nil
}

// List implements [client.Reader]. What is shown over an object of the list need not
// match by what was asked for any more.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil || c.Writes.empty() {
		return err
	}
	var as client.ListOptions
	as.ApplyOptions(opts)
	return meta.EachListItem(list, func(o runtime.Object) error {
		c.show(o.(client.Object), as.UnsafeDisableDeepCopy)
		return nil
	})
}

// show makes o, which was read from the cache, what was written last.
func (c *Client) show(o client.Object, shared *bool) {
	latest := c.Writes.Over(o)
	if latest == o || reflect.TypeOf(latest) != reflect.TypeOf(o) {
		return
	}
	c.mu.Lock()
	if c.hidden == nil {
		c.hidden = map[types.UID]struct{}{}
	}
	c.hidden[o.GetUID()] = struct{}{}
	c.mu.Unlock()
	if shared == nil || !*shared {
		latest = latest.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(latest).Elem())
}

// Create implements [client.Writer].
func (c *Client) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, o, opts...)
	if err == nil {
		c.Await(o)
	}
	return err
}

// Await enters that the object was made, as the API server says in another way.
func (c *Client) Await(o client.Object) {
	c.await(func(a *Awaited) { a.Created(c.Clock.Now(), o.GetUID()) })
}

// Delete implements [client.Writer].
func (c *Client) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, o, opts...)
	var as client.DeleteOptions
	as.ApplyOptions(opts)
	if as.Preconditions == nil || as.Preconditions.UID == nil {
		return err
	}
	// A conflict over the UID alone says that another object has the name.
	replaced := as.Preconditions.ResourceVersion == nil && apierrors.IsConflict(err)
	if err == nil || apierrors.IsNotFound(err) || replaced {
		c.await(func(a *Awaited) { a.Deleted(c.Clock.Now(), *as.Preconditions.UID) })
	}
	return err
}

func (c *Client) await(enter func(*Awaited)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Awaited != nil {
		enter(c.Awaited)
	}
}

// Update implements [client.Writer].
func (c *Client) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.enter(o, func() error { return c.Client.Update(ctx, o, opts...) })
}

// Patch implements [client.Writer].
func (c *Client) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.enter(o, func() error { return c.Client.Patch(ctx, o, patch, opts...) })
}

// enter writes o, which becomes the answer.
func (c *Client) enter(o client.Object, write func() error) error {
	before, end := o.GetResourceVersion(), c.Versions.begin(o)
	err := write()
	if err == nil {
		c.Writes.Wrote(before, o)
	}
	end(o, err)
	return err
}

// Status implements [client.StatusClient].
func (c *Client) Status() client.SubResourceWriter { return status{c.Client.Status(), c} }

type status struct {
	client.SubResourceWriter
	of *Client
}

// Update implements [client.SubResourceWriter].
func (s status) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.of.enter(o, func() error { return s.SubResourceWriter.Update(ctx, o, opts...) })
}

// Patch implements [client.SubResourceWriter].
func (s status) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	return s.of.enter(o, func() error { return s.SubResourceWriter.Patch(ctx, o, patch, opts...) })
}

// Hides reports whether the cache showed the pass an older version of the object
// than was written.
func (c *Client) Hides(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, hides := c.hidden[uid]
	return hides
}

// Settle ends a pass: it asks the API server for the objects whose writes the cache has
// hidden from it for too long, and returns when to look again; zero: nothing is hidden.
// Their events wake whoever watches them sooner. An API server that was restored has
// them as they were before: they are taken as they are from then on.
func (c *Client) Settle(ctx context.Context, now time.Time) (again time.Duration) {
	c.Writes.sweep(now)
	for _, uid := range c.ids() {
		object, left := c.Writes.hides(now, uid)
		if object == nil {
			continue
		}
		if left <= 0 {
			left = c.pastCache(ctx, now, object)
		}
		if again == 0 || left < again {
			again = left
		}
	}
	return again
}

func (c *Client) ids() []types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]types.UID, 0, len(c.hidden))
	for uid := range c.hidden {
		out = append(out, uid)
	}
	slices.Sort(out)
	return out
}

// pastCache looks what has become of a write that the cache hides, and returns when to
// look again.
func (c *Client) pastCache(ctx context.Context, now time.Time, was client.Object) time.Duration {
	there := reflect.New(reflect.TypeOf(was).Elem()).Interface().(client.Object) // what is read is entered whole
	there.GetObjectKind().SetGroupVersionKind(was.GetObjectKind().GroupVersionKind())
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(was), there); err != nil || there.GetUID() != was.GetUID() {
		return Patience
	}
	if !c.Writes.WentBack(now, there) {
		if c.Overtaken {
			c.Writes.Wrote(was.GetResourceVersion(), there)
		}
		return Patience
	}
	log.FromContext(ctx).Info("the API server has gone back: what was written is forgotten",
		"object", was.GetName(), "version", there.GetResourceVersion(), "was", was.GetResourceVersion())
	return time.Millisecond
}
