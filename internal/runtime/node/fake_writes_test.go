package node

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// counting notes every write before it goes on to funcs.
func (w *world) counting(funcs interceptor.Funcs) interceptor.Funcs {
	note := func(verb string) {
		w.noting.Lock()
		defer w.noting.Unlock()
		w.writes = append(w.writes, verb)
	}
	out := funcs
	out.Create = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		note("create")
		if funcs.Create != nil {
			return funcs.Create(ctx, c, o, opts...)
		}
		return c.Create(ctx, o, opts...)
	}
	out.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		note("patch")
		if funcs.Patch != nil {
			return funcs.Patch(ctx, c, o, p, opts...)
		}
		return c.Patch(ctx, o, p, opts...)
	}
	out.SubResourcePatch = func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		note("patch " + sub)
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}
	out.SubResourceCreate = func(ctx context.Context, c client.Client, sub string, o, s client.Object, opts ...client.SubResourceCreateOption) error {
		note(sub)
		if funcs.SubResourceCreate != nil {
			return funcs.SubResourceCreate(ctx, c, sub, o, s, opts...)
		}
		return c.SubResource(sub).Create(ctx, o, s, opts...)
	}
	out.Delete = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		note("delete")
		if funcs.Delete != nil {
			return funcs.Delete(ctx, c, o, opts...)
		}
		return c.Delete(ctx, o, opts...)
	}
	return out
}
