package leading

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Guarded returns c for as long as the process leads: writes are refused when another process may lead
// already. Reads are always allowed.
func (t *Term) Guarded(c client.Client) client.Client { return &guarded{Client: c, term: t} }

type guarded struct {
	client.Client
	term *Term
}

func (t *Term) may(verb string) error {
	if err := t.Err(); err != nil {
		return fmt.Errorf("%s was not sent: %w", verb, err)
	}
	return nil
}

func (g *guarded) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := g.term.may("create"); err != nil {
		return err
	}
	return g.Client.Create(ctx, o, opts...)
}

func (g *guarded) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if err := g.term.may("update"); err != nil {
		return err
	}
	return g.Client.Update(ctx, o, opts...)
}

func (g *guarded) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := g.term.may("patch"); err != nil {
		return err
	}
	return g.Client.Patch(ctx, o, p, opts...)
}

func (g *guarded) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if err := g.term.may("delete"); err != nil {
		return err
	}
	return g.Client.Delete(ctx, o, opts...)
}

func (g *guarded) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	if err := g.term.may("delete"); err != nil {
		return err
	}
	return g.Client.DeleteAllOf(ctx, o, opts...)
}

func (g *guarded) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := g.term.may("apply"); err != nil {
		return err
	}
	return g.Client.Apply(ctx, o, opts...)
}

func (g *guarded) Status() client.SubResourceWriter {
	return &guardedPart{SubResourceClient: g.Client.SubResource("status"), term: g.term}
}

func (g *guarded) SubResource(name string) client.SubResourceClient {
	return &guardedPart{SubResourceClient: g.Client.SubResource(name), term: g.term}
}

type guardedPart struct {
	client.SubResourceClient
	term *Term
}

func (g *guardedPart) Create(ctx context.Context, o, part client.Object, opts ...client.SubResourceCreateOption) error {
	if err := g.term.may("create"); err != nil {
		return err
	}
	return g.SubResourceClient.Create(ctx, o, part, opts...)
}

func (g *guardedPart) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	if err := g.term.may("update"); err != nil {
		return err
	}
	return g.SubResourceClient.Update(ctx, o, opts...)
}

func (g *guardedPart) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := g.term.may("patch"); err != nil {
		return err
	}
	return g.SubResourceClient.Patch(ctx, o, p, opts...)
}

func (g *guardedPart) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := g.term.may("apply"); err != nil {
		return err
	}
	return g.SubResourceClient.Apply(ctx, o, opts...)
}
