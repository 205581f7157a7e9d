package providertest

import (
	"context"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func ownershipChecks() []Check {
	return []Check{
		check("listing complete", "an instance that is missing from a listing is never collected", checkListing),
		check("listing cut short", "a listing that failed half way must not pass for a complete one", checkListingCut),
		check("foreign namesake", "an instance of another cluster is neither found nor touched", checkForeignNamesake),
		check("foreign provider ID", "a provider ID that leads to another cluster's instance is not ours", checkForeignProviderID),
	}
}

func checkListing(ctx context.Context, b *bench) error {
	_, other, err := b.other(ctx)
	if err != nil {
		return err
	}
	// Two full pages of our cluster and one of the other, interleaved: the infrastructure's last page is
	// reached, and no page has only our instances.
	n := max(2*b.PageSize+1, 3)
	ours := map[string]bool{}
	for k := range n {
		made, err := b.session.Create(ctx, b.ref(fmt.Sprintf("m-%02d", k)), b.want())
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		ours[made.ID] = true
		if k%2 == 0 {
			ref := b.ref(fmt.Sprintf("other-%02d", k))
			if _, err := other.Create(ctx, ref, b.want()); err != nil {
				return fmt.Errorf("create in the other cluster: %w", err)
			}
		}
	}
	return b.eventually(ctx, "the listing shows what was made", func() (bool, error) {
		return b.listsExactly(ctx, ours)
	})
}

// listsExactly checks that a listing shows no instance twice and none of the other cluster, and reports
// whether it shows all of ours. Instances whose creation is in progress may appear later.
func (b *bench) listsExactly(ctx context.Context, ours map[string]bool) (bool, error) {
	all, err := b.list(ctx)
	if err != nil {
		return false, err
	}
	seen := map[string]bool{}
	for _, i := range all {
		if !ours[i.ID] {
			return false, fmt.Errorf("lists %s (%s), which is another cluster's", i.ID, i.Name)
		}
		if seen[i.ID] {
			return false, fmt.Errorf("lists %s (%s) twice", i.ID, i.Name)
		}
		seen[i.ID] = true
	}
	return len(seen) == len(ours), nil
}

func checkListingCut(ctx context.Context, b *bench) error {
	for k := range b.PageSize + 2 {
		if _, err := b.session.Create(ctx, b.ref(fmt.Sprintf("m-%02d", k)), b.want()); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	if err := b.tick(ctx); err != nil {
		return err
	}
	if err := b.inject(List, Fault{Kind: provider.Denied, Partial: max(b.PageSize, 1)}); err != nil {
		return err
	}
	if _, err := b.list(ctx); provider.KindOf(err) != provider.Denied {
		return fmt.Errorf("the second page was denied, and list ends with %w", orNone(err))
	}
	return nil
}

func checkForeignNamesake(ctx context.Context, b *bench) error {
	class, other, err := b.other(ctx)
	if err != nil {
		return err
	}
	ref := b.ref("m")
	if err := b.plant(class, "", ref.Name); err != nil {
		return err
	}
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("find reports %s, which is another cluster's", found[0].ID)
	}
	if err := b.remove(ctx, ref, nil); err != nil {
		return err
	}
	return survives(ctx, other, ref)
}

// survives checks that the other cluster still has its instance.
func survives(ctx context.Context, other provider.Session, ref provider.Ref) error {
	found, err := other.Find(ctx, ref)
	if err != nil {
		return fmt.Errorf("find in the other cluster: %w", err)
	}
	if len(provider.Existing(found)) != 1 {
		return fmt.Errorf("the other cluster has %d instances of that name, want 1", len(found))
	}
	return nil
}

func checkForeignProviderID(ctx context.Context, b *bench) error {
	_, other, err := b.other(ctx)
	if err != nil {
		return err
	}
	theirs := b.ref("theirs")
	var id string
	err = b.eventually(ctx, "the other cluster's instance has a provider ID", func() (bool, error) {
		i, err := other.Create(ctx, theirs, b.want())
		id = i.ProviderID
		return id != "", err
	})
	if err != nil {
		return err
	}
	ref := b.ref("m")
	ref.ProviderID = id
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("find reports %s, which is another cluster's", found[0].ID)
	}
	if err := b.remove(ctx, ref, nil); err != nil {
		return err
	}
	return survives(ctx, other, theirs)
}
