package providertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

func ownerChecks() []Check {
	return []Check{
		check("owner", "an instance tells which control plane made it, and in which namespace its machine is", checkOwner),
		check("owner unknown", "an owner that is not recorded on an instance must not be reported", checkNoOwner),
		check("another owner", "a machine that moved to another control plane finds its instance, and gets no second one", checkOtherOwner),
	}
}

// The identities of two control planes, in the form of an API server's UIDs.
const (
	thisOwner  = "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11"
	otherOwner = "c0a8012e-7b1d-4f7e-8c55-9be1f4a2d3e4"
)

// owned opens the bench's class for a control plane.
func (b *bench) owned(ctx context.Context, owner string) error {
	b.class.Owner = owner
	return b.restart(ctx)
}

// tells checks that every report of an instance of ref has its owner.
func (b *bench) tells(ctx context.Context, ref provider.Ref, owner, namespace string) error {
	found, err := b.only(ctx, ref)
	if err != nil {
		return err
	}
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	n := slices.IndexFunc(all, func(i provider.Instance) bool { return i.ID == found.ID })
	if n < 0 {
		return fmt.Errorf("list does not show %s, which find reports", found.ID)
	}
	for verb, i := range map[Verb]provider.Instance{Find: found, List: all[n]} {
		if i.Owner != owner || i.Namespace != namespace {
			return fmt.Errorf("%s reports owner %q and namespace %q, want %q and %q", verb, i.Owner, i.Namespace, owner, namespace)
		}
	}
	return nil
}

func checkOwner(ctx context.Context, b *bench) error {
	if err := b.owned(ctx, thisOwner); err != nil {
		return err
	}
	// The longest valid namespace.
	ref := b.ref("m")
	ref.Namespace = "n" + fmt.Sprintf("%062d", 7)
	for _, verb := range []string{"create", "create again"} {
		made, err := b.session.Create(ctx, ref, b.want())
		if err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		if made.Owner != thisOwner || made.Namespace != ref.Namespace {
			return fmt.Errorf("%s reports owner %q and namespace %q, want %q and %q", verb, made.Owner, made.Namespace, thisOwner, ref.Namespace)
		}
	}
	if _, err := b.awaitRunning(ctx, ref); err != nil {
		return err
	}
	if err := b.tells(ctx, ref, thisOwner, ref.Namespace); err != nil {
		return err
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.tells(ctx, ref, thisOwner, ref.Namespace); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	b.class.Spec = nil
	if err := b.restart(ctx); err != nil {
		return err
	}
	if err := b.tells(ctx, ref, thisOwner, ref.Namespace); err != nil {
		return fmt.Errorf("without a spec: %w", err)
	}
	return nil
}

func checkNoOwner(ctx context.Context, b *bench) error {
	if err := b.owned(ctx, ""); err != nil {
		return err
	}
	ref := b.ref("m")
	if _, err := b.running(ctx, ref); err != nil {
		return err
	}
	if err := b.owned(ctx, thisOwner); err != nil {
		return err
	}
	if err := b.tells(ctx, ref, "", ref.Namespace); err != nil {
		return fmt.Errorf("made by a control plane that does not know its identity: %w", err)
	}
	theirs := b.ref("theirs")
	if err := b.plant(b.class, "", theirs.Name); err != nil {
		return err
	}
	if err := b.tells(ctx, theirs, "", ""); err != nil {
		return fmt.Errorf("made by another implementation: %w", err)
	}
	return nil
}

func checkOtherOwner(ctx context.Context, b *bench) error {
	if err := b.owned(ctx, thisOwner); err != nil {
		return err
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.owned(ctx, otherOwner); err != nil {
		return err
	}
	if err := b.tells(ctx, ref, thisOwner, ref.Namespace); err != nil {
		return fmt.Errorf("asked by another owner: %w", err)
	}
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil || made.ID != i.ID || made.Owner != thisOwner {
		return fmt.Errorf("create by another owner reports %q of owner %q, want %s of %s (error %w)", made.ID, made.Owner, i.ID, thisOwner, orNone(err))
	}
	if err := b.holds(1); err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return fmt.Errorf("by another owner: %w", err)
	}
	return b.gone(ctx, ref)
}
