package store

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Call is one request to the API server.
type Call struct {
	// Verb is get, list, create, update, patch or delete; Part the subresource,
	// empty for the object itself.
	Verb, Part string
	Kind       *Kind
	// Object is the sent object; it has the name.
	Object client.Object
	Key    client.ObjectKey
	// Patch is the patch; nil for other verbs.
	Patch client.Patch
}

// Writes reports whether the call changes anything.
func (c Call) Writes() bool { return c.Verb != "get" && c.Verb != "list" }

// Gate stands between a client and the store. It makes the call or does not, and returns the caller's result.
type Gate func(c Call, do func() error) error

var errUnsupported = errors.New("the simulated API server does not support this")

// Live reads the stored objects through the gate.
type Live struct {
	Store *Store
	Gate  Gate
}

// Get implements client.Reader.
func (l Live) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	k := l.Store.kinds.of(o)
	return l.Gate(Call{Verb: "get", Kind: k, Object: o, Key: key}, func() error {
		found := l.Store.objects[k].get(key)
		if found == nil {
			return apierrors.NewNotFound(k.resource(), key.Name)
		}
		assign(o, found)
		return nil
	})
}

// List implements client.Reader.
func (l Live) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	k := l.Store.kinds.of(list)
	return l.Gate(Call{Verb: "list", Kind: k}, func() error {
		fill(list, l.Store.matching(k, l.Store.objects[k].all(), listOptions(opts)), false)
		return nil
	})
}

// Client reads from views and writes to the store through the gate.
type Client struct {
	Store *Store
	Views map[*Kind]*View
	Gate  Gate
	// Shows, if set, is called for each object that a caller reads from a view.
	Shows func(client.Object)
}

var _ client.Client = (*Client)(nil)

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	v := c.Views[c.Store.kinds.of(o)]
	if v == nil { // no view has the kind
		return Live{Store: c.Store, Gate: c.Gate}.Get(ctx, key, o)
	}
	if found := v.Lookup(key); found != nil {
		c.shows(found)
	}
	return v.get(key, o)
}

// List implements client.Reader.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	v := c.Views[c.Store.kinds.of(list)]
	if v == nil { // no view has the kind
		return Live{Store: c.Store, Gate: c.Gate}.List(ctx, list, opts...)
	}
	c.shows(v.list(list, listOptions(opts))...)
	return nil
}

func (c *Client) shows(all ...client.Object) {
	if c.Shows == nil {
		return
	}
	for _, o := range all {
		c.Shows(o)
	}
}

// write sends a change and copies the answer, if any, into o.
func (c *Client) write(call Call, o client.Object, do func() (client.Object, error)) error {
	call.Kind, call.Object, call.Key = c.Store.kinds.of(o), o, client.ObjectKeyFromObject(o)
	var stored client.Object
	err := c.Gate(call, func() (err error) {
		stored, err = do()
		return err
	})
	if err == nil && stored != nil {
		assign(o, stored)
	}
	return err
}

// Create implements client.Writer.
func (c *Client) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	sent := o.DeepCopyObject().(client.Object)
	return c.write(Call{Verb: "create"}, o, func() (client.Object, error) { return c.Store.Create(sent) })
}

// Update implements client.Writer.
func (c *Client) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	sent := o.DeepCopyObject().(client.Object)
	return c.write(Call{Verb: "update"}, o, func() (client.Object, error) { return c.Store.Update(sent, "") })
}

// Patch implements client.Writer.
func (c *Client) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.patch(o, p, "")
}

func (c *Client) patch(o client.Object, p client.Patch, part string) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	sent, fixed := o.DeepCopyObject().(client.Object), client.RawPatch(p.Type(), data)
	return c.write(Call{Verb: "patch", Part: part, Patch: fixed}, o, func() (client.Object, error) { return c.Store.Patch(sent, fixed, part) })
}

// Delete implements client.Writer.
func (c *Client) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	options := *(&client.DeleteOptions{}).ApplyOptions(opts)
	sent := o.DeepCopyObject().(client.Object)
	return c.write(Call{Verb: "delete"}, o, func() (client.Object, error) { return nil, c.Store.Delete(sent, options) })
}

// DeleteAllOf implements client.Writer.
func (*Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Apply implements client.Writer.
func (*Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnsupported
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client.
func (c *Client) SubResource(name string) client.SubResourceClient { return part{c, name} }

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.Store.scheme }

// RESTMapper implements client.Client; it returns nil.
func (*Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor implements client.Client.
func (c *Client) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return c.Store.kinds.of(o).GroupVersionKind, nil
}

// IsObjectNamespaced implements client.Client.
func (c *Client) IsObjectNamespaced(o runtime.Object) (bool, error) {
	switch o.(type) {
	case *corev1.Node, *corev1.PersistentVolume, *storagev1.VolumeAttachment:
		return false, nil
	}
	return true, nil
}

// part is a subresource.
type part struct {
	c    *Client
	name string
}

// Get implements client.SubResourceReader.
func (part) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

// Create implements client.SubResourceWriter, for evictions.
func (p part) Create(_ context.Context, o, body client.Object, _ ...client.SubResourceCreateOption) error {
	e, ok := body.(*policyv1.Eviction)
	if !ok || p.name != "eviction" {
		return errUnsupported
	}
	sent := e.DeepCopy()
	return p.c.write(Call{Verb: "create", Part: p.name}, o, func() (client.Object, error) { return nil, p.c.Store.Evict(sent) })
}

// Update implements client.SubResourceWriter.
func (p part) Update(_ context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	sent := o.DeepCopyObject().(client.Object)
	return p.c.write(Call{Verb: "update", Part: p.name}, o, func() (client.Object, error) { return p.c.Store.Update(sent, p.name) })
}

// Patch implements client.SubResourceWriter.
func (p part) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return p.c.patch(o, patch, p.name)
}

// Apply implements client.SubResourceWriter.
func (part) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}
