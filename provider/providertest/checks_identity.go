package providertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func identityChecks() []Check {
	return []Check{
		check("found by name", "what another implementation made is taken over by name", checkByName),
		check("found by provider ID", "what another implementation made is taken over by provider ID, in either API's format", checkByProviderID),
		check("namesake", "an instance of a former machine of that name is not this machine's", checkNamesake),
		check("two for one machine", "duplicates must be seen, and all removed with the machine", checkDuplicates),
		check("one of two", "of two instances the one that is not recorded goes, and only that", checkOneOfTwo),
		check("one without UID", "an instance that names no machine goes alone", checkOneForeign),
		check("duplicates not added to", "create with two instances present reports one and makes none", checkCreateOnDuplicates),
	}
}

// plant creates an instance around the provider, or skips the check.
func (b *bench) plant(class provider.Class, uid, name string) error {
	if b.Plant == nil {
		return Skip("the infrastructure cannot create instances without the provider (Knobs.Plant)")
	}
	if err := b.Plant(class, provider.Instance{UID: uid, Name: name, State: provider.Running}); err != nil {
		return fmt.Errorf("plant %s: %w", name, err)
	}
	return nil
}

func checkByName(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.plant(b.class, "", ref.Name); err != nil {
		return err
	}
	i, err := b.only(ctx, ref)
	if err != nil {
		return err
	}
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create beside what another implementation made: %w", err)
	}
	if made.ID != i.ID {
		return fmt.Errorf("create made %s although %s carries the machine's name", made.ID, i.ID)
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

// only checks that exactly one instance is found for ref.
func (b *bench) only(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
	found, err := b.find(ctx, ref)
	if err != nil {
		return provider.Instance{}, err
	}
	if len(found) != 1 {
		return provider.Instance{}, fmt.Errorf("find reports %d instances, want 1", len(found))
	}
	return found[0], nil
}

func checkByProviderID(ctx context.Context, b *bench) error {
	if err := b.plant(b.class, "", "made-elsewhere"); err != nil {
		return err
	}
	for _, api := range b.apis() {
		class := b.Class(api, b.class.Cluster)
		s, err := b.provider.Open(ctx, class)
		if err != nil {
			return fmt.Errorf("open the class of %s: %w", api, err)
		}
		by, err := s.Find(ctx, provider.Ref{UID: b.ref("x").UID, Namespace: "machines", Name: "made-elsewhere"})
		if err != nil || len(by) != 1 {
			return fmt.Errorf("find by name in %s: %d instances, error %w", api, len(by), orNone(err))
		}
		ref := b.ref("renamed")
		ref.ProviderID = by[0].ProviderID
		i, err := b.only(ctx, ref)
		if err != nil {
			return fmt.Errorf("by provider ID %s: %w", ref.ProviderID, err)
		}
		if i.ID != by[0].ID {
			return fmt.Errorf("provider ID %s leads to %s, want %s", ref.ProviderID, i.ID, by[0].ID)
		}
	}
	return nil
}

func checkNamesake(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	former := b.ref("former")
	if err := b.plant(b.class, former.UID, ref.Name); err != nil {
		return err
	}
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("find reports %s, which is tagged with another UID", found[0].ID)
	}
	if _, err := b.running(ctx, ref); err != nil {
		return fmt.Errorf("create beside a namesake: %w", err)
	}
	i, err := b.only(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	former.Name = ref.Name
	if _, err := b.only(ctx, former); err != nil {
		return fmt.Errorf("the namesake after the machine's delete: %w", err)
	}
	return nil
}

func (b *bench) plantTwo(ref provider.Ref) error {
	return errors.Join(b.plant(b.class, ref.UID, ref.Name), b.plant(b.class, ref.UID, ref.Name))
}

func checkDuplicates(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.plantTwo(ref); err != nil {
		return err
	}
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) != 2 {
		return fmt.Errorf("find reports %d instances, want both", len(found))
	}
	if err := b.remove(ctx, ref, found); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkOneOfTwo(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.plantTwo(ref); err != nil {
		return err
	}
	return b.removesOne(ctx, ref.UID)
}

func checkOneForeign(ctx context.Context, b *bench) error {
	for _, name := range []string{"m-1", "m-2"} {
		if err := b.plant(b.class, "", name); err != nil {
			return err
		}
	}
	return b.removesOne(ctx, "")
}

// removesOne checks that the first of two instances can be removed alone.
func (b *bench) removesOne(ctx context.Context, uid string) error {
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	if all = provider.Existing(all); len(all) != 2 || all[0].UID != uid || all[1].UID != uid {
		return fmt.Errorf("list shows %+v, want two with the UID %q", all, uid)
	}
	if err := b.remove(ctx, provider.Ref{}, all[:1]); err != nil {
		return err
	}
	left, err := b.list(ctx)
	if err != nil {
		return err
	}
	left = provider.Existing(left)
	if len(left) != 1 || left[0].ID != all[1].ID || left[0].State != provider.Running {
		return fmt.Errorf("after %s was removed by itself, list shows %+v", all[0].ID, left)
	}
	return b.holds(1)
}

func checkCreateOnDuplicates(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.plantTwo(ref); err != nil {
		return err
	}
	if _, err := b.session.Create(ctx, ref, b.want()); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) != 2 {
		return fmt.Errorf("after create there are %d instances, want the 2 of before", len(found))
	}
	return b.holds(2)
}
