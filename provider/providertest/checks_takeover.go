package providertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func takeoverChecks() []Check {
	return []Check{
		check("spellings", "the same instance reads differently in each API, and must be known again in both", checkSpellings),
		check("restored", "a machine restored from a backup has a new UID, and its instance the old one", checkRestored),
		check("only what is given", "what merely shares name or provider ID with a machine may be another's", checkOnlyGiven),
		check("one of a former UID", "the twin of an instance that was taken over is not this machine's", checkOneOfFormer),
		check("class changed", "a create is repeated after its class was changed", checkClassChanged),
	}
}

// sessions opens the bench's cluster in every API of the provider.
func (b *bench) sessions(ctx context.Context) (out []provider.Session, err error) {
	for _, api := range b.apis() {
		s, err := b.provider.Open(ctx, b.Class(api, b.class.Cluster))
		if err != nil {
			return nil, fmt.Errorf("open the class of %s: %w", api, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func checkSpellings(ctx context.Context, b *bench) error {
	ref, other := b.ref("m"), b.ref("m-2")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	stranger, err := b.running(ctx, other)
	if err != nil {
		return err
	}
	sessions, err := b.sessions(ctx)
	if err != nil {
		return err
	}
	spellings := []string{i.ProviderID}
	for _, s := range sessions {
		found, err := s.Find(ctx, ref)
		if err != nil || len(found) != 1 {
			return fmt.Errorf("find by UID: %d instances, error %w", len(found), orNone(err))
		}
		spellings = append(spellings, found[0].ProviderID)
	}
	if b.Spellings != nil {
		spellings = append(spellings, b.Spellings(i)...)
	}
	for _, s := range sessions {
		for _, spelling := range spellings {
			if err := b.spelt(ctx, s, spelling, i, stranger); err != nil {
				return fmt.Errorf("provider ID %s: %w", spelling, err)
			}
		}
	}
	return nil
}

// spelt checks that s identifies the spelling with i and with no other instance.
func (b *bench) spelt(ctx context.Context, s provider.Session, spelling string, i, stranger provider.Instance) error {
	read := provider.Identifier(s)
	switch {
	case !provider.SameInstance(s, spelling, i.ProviderID):
		return fmt.Errorf("is not read as %s", i.ProviderID)
	case provider.SameInstance(s, spelling, stranger.ProviderID):
		return fmt.Errorf("is read as that of another instance, %s", stranger.ProviderID)
	case read("elsewhere-"+spelling) == read(spelling), read("") != "":
		return errors.New("is read whatever the scheme")
	}
	found, err := s.Find(ctx, provider.Ref{UID: b.ref("restored").UID, Namespace: "machines", Name: "renamed", ProviderID: spelling})
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	if len(found) != 1 || found[0].ID != i.ID {
		return fmt.Errorf("find reports %d instances, want %s", len(found), i.ID)
	}
	return nil
}

func checkRestored(ctx context.Context, b *bench) error {
	i, err := b.running(ctx, b.ref("m"))
	if err != nil {
		return err
	}
	ref := b.ref("restored")
	ref.Name, ref.ProviderID = "m", i.ProviderID
	found, err := b.only(ctx, ref)
	if err != nil {
		return err
	}
	if found.ID != i.ID || found.UID != i.UID {
		return fmt.Errorf("find reports %s of %q, want %s of %q", found.ID, found.UID, i.ID, i.UID)
	}
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil || made.ID != i.ID {
		return fmt.Errorf("create reports %q, want %s: %w", made.ID, i.ID, orNone(err))
	}
	if err := b.holds(1); err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{found}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkOnlyGiven(ctx context.Context, b *bench) error {
	recorded, err := b.running(ctx, b.ref("former"))
	if err != nil {
		return err
	}
	ref := b.ref("m")
	if err := b.plant(b.class, "", ref.Name); err != nil {
		return err
	}
	ref.ProviderID = recorded.ProviderID
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) != 2 {
		return fmt.Errorf("find reports %d instances, want the one recorded and the one of the name", len(found))
	}
	if err := b.remove(ctx, ref, nil); err != nil {
		return err
	}
	for _, i := range found {
		if err := b.lives(ctx, i.ID); err != nil {
			return fmt.Errorf("nothing was given, and of recorded and named: %w", err)
		}
	}
	return b.holds(2)
}

// lives checks that an instance is listed, and not under deletion.
func (b *bench) lives(ctx context.Context, id string) error {
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.ID == id && i.Exists() && i.State != provider.Stopping {
			return nil
		}
	}
	return fmt.Errorf("instance %s is being deleted, or does not exist", id)
}

func checkOneOfFormer(ctx context.Context, b *bench) error {
	former := b.ref("former")
	if err := b.plantTwo(former); err != nil {
		return err
	}
	twins, err := b.find(ctx, former)
	if err != nil || len(twins) != 2 {
		return fmt.Errorf("find reports %d instances, want both: %w", len(twins), orNone(err))
	}
	ref := b.ref("restored")
	ref.Name, ref.ProviderID = former.Name, twins[0].ProviderID
	found, err := b.only(ctx, ref)
	if err != nil || found.ID != twins[0].ID {
		return fmt.Errorf("find reports %q, want %s, which is recorded: %w", found.ID, twins[0].ID, orNone(err))
	}
	if err := b.remove(ctx, ref, twins[:1]); err != nil {
		return err
	}
	if err := b.lives(ctx, twins[1].ID); err != nil {
		return fmt.Errorf("after its twin was removed: %w", err)
	}
	return b.holds(1)
}

func checkClassChanged(ctx context.Context, b *bench) error {
	if b.Changed == nil {
		return Skip("the harness has no other spec (Harness.Changed)")
	}
	made, lost := b.ref("m"), b.ref("lost")
	i, err := b.running(ctx, made)
	if err != nil {
		return err
	}
	// The second create gets no reply, if the simulator can drop it.
	replies := 1
	if err := b.inject(Create, Fault{Kind: provider.Transient, Done: true}); err == nil {
		replies = 2
		if _, err := b.session.Create(ctx, lost, b.want()); err != nil && provider.KindOf(err) != provider.Transient {
			return fmt.Errorf("create: %w", err)
		}
	}
	was := b.session
	b.class = b.Changed(b.class)
	if err := b.restart(ctx); err != nil {
		return err
	}
	again, err := b.session.Create(ctx, made, b.want())
	if err != nil || again.ID != i.ID {
		return fmt.Errorf("create after the class changed reports %q, want %s: %w", again.ID, i.ID, orNone(err))
	}
	if replies == 2 {
		if _, err := b.session.Create(ctx, lost, b.want()); err != nil {
			return fmt.Errorf("create after a lost reply and a change of the class: %w", err)
		}
	}
	if err := b.holds(replies); err != nil {
		return err
	}
	return b.compared(ctx, was, made)
}

// compared checks that Differences shows how the instance differs from its current class.
func (b *bench) compared(ctx context.Context, was provider.Session, ref provider.Ref) error {
	if b.Incomparable {
		return nil
	}
	i, err := b.only(ctx, ref)
	if err != nil {
		return err
	}
	if d := was.Differences(ref, i); len(d) > 0 {
		return fmt.Errorf("differs from what it was made from: %q", d)
	}
	if len(b.session.Differences(ref, i)) == 0 {
		return errors.New("no difference is seen from a class that has changed")
	}
	return nil
}
