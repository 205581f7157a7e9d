package providertest

import (
	"context"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func leftoverChecks() []Check {
	return []Check{
		check("leftovers removed", "what a failed create leaves behind goes with the machine", checkLeftovers),
		check("leftovers reused", "a create that failed half way can be repeated, and leaves nothing later", checkLeftoversReused),
		check("leftovers listed", "what was left behind without a machine is found and removed", checkLeftoverLister),
		check("neighbour untouched", "deleting one machine leaves the others whole", checkNeighbour),
	}
}

func (b *bench) leave(ref provider.Ref) error {
	if b.Leave == nil || b.Count == nil {
		return Skip("the infrastructure cannot leave or count dependants (Knobs.Leave, Knobs.Count)")
	}
	return b.Leave(b.class, ref)
}

func checkLeftovers(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.leave(ref); err != nil {
		return err
	}
	if _, dependants, err := b.Count(b.class); err != nil || dependants == 0 {
		return Skip("the infrastructure has no dependants to leave behind")
	}
	if err := b.remove(ctx, ref, nil); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkLeftoversReused(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.leave(ref); err != nil {
		return err
	}
	i, err := b.running(ctx, ref)
	if err != nil {
		return fmt.Errorf("over leftovers: %w", err)
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkLeftoverLister(ctx context.Context, b *bench) error {
	lister, err := capability[provider.LeftoverLister](b.session, "LeftoverLister")
	if err != nil {
		return err
	}
	if err := b.owned(ctx, thisOwner); err != nil {
		return err
	}
	kept, err := b.running(ctx, b.ref("kept"))
	if err != nil {
		return err
	}
	lost := b.ref("lost")
	if err := b.leave(lost); err != nil {
		return err
	}
	for _, want := range []int{1, 0} {
		owners := map[string]bool{}
		for l, err := range lister.Leftovers(ctx) {
			if err != nil {
				return fmt.Errorf("list leftovers: %w", err)
			}
			if l.UID != lost.UID || l.Kind == "" || l.ID == "" {
				return fmt.Errorf("lists %+v, want those of %s and no others", l, lost.UID)
			}
			if l.Owner != thisOwner || l.Namespace != lost.Namespace {
				return fmt.Errorf("lists %+v, want owner %s and namespace %s", l, thisOwner, lost.Namespace)
			}
			owners[l.UID] = true
		}
		if len(owners) != want {
			return fmt.Errorf("leftovers of %d machines are listed, want %d", len(owners), want)
		}
		if err := b.remove(ctx, lost, nil); err != nil {
			return err
		}
	}
	found, err := b.only(ctx, b.ref("kept"))
	if err != nil || found.ID != kept.ID {
		return fmt.Errorf("the instance beside is %s, was %s: %w", found.ID, kept.ID, orNone(err))
	}
	return nil
}

func checkNeighbour(ctx context.Context, b *bench) error {
	// One name is a prefix of the other: lookups by prefix would match both.
	ref, neighbour := b.ref("m-1"), b.ref("m-10")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	kept, err := b.running(ctx, neighbour)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	found, err := b.only(ctx, neighbour)
	if err != nil {
		return fmt.Errorf("the neighbour: %w", err)
	}
	if found.ID != kept.ID || found.State != provider.Running {
		return fmt.Errorf("the neighbour was %s, is %s in state %s", kept.ID, found.ID, found.State)
	}
	return b.holds(1)
}
