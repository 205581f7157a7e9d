package readyourwrites

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

// Client is the client of one pass. It enters each write, and its reads return the written object in place
// of the cached one.
type Client struct {
	client.Client
	// Live reads from the API server itself.
	Live client.Reader
	// Writes are those of all passes. Awaited are the objects that the owner of this pass waits for; nil:
	// none.
	Writes  *Writes
	Awaited *Awaited
	Clock   clock.PassiveClock
	// Versions are the versions of the written objects; may be nil.
	Versions *Versions
	// Overtaken: if the cache hides a write for too long, reads return what another client has written
	// since. A controller that decides by many objects of one cache leaves it false and goes by that cache.
	Overtaken bool

	mu sync.Mutex
	// hidden are the objects that the cache showed in an older version than the written one.
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

// List implements [client.Reader]. A written object that replaces a cached one may no longer match the list
// options.
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

// show replaces o, which was read from the cache, by the last written version.
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

// Await enters that the object was created, which the API server reported in another way.
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
	// A conflict over the UID alone means that another object has the name.
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

// enter writes o, which becomes the answer of the API server.
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

// Hides reports whether the cache showed the pass an older version of the object than the written one.
func (c *Client) Hides(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, hides := c.hidden[uid]
	return hides
}

// Settle ends a pass: it asks the API server for the objects whose writes the cache has hidden for too
// long, and returns when to look again; zero: nothing is hidden. The watch events of these objects start
// the next pass sooner. A restored API server has them in their former state, which is accepted from then
// on.
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

// pastCache reads from the API server an object whose write the cache hides, and returns when to look
// again.
func (c *Client) pastCache(ctx context.Context, now time.Time, was client.Object) time.Duration {
	there := reflect.New(reflect.TypeOf(was).Elem()).Interface().(client.Object) // the whole object is entered
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
