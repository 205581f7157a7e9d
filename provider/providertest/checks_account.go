package providertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func accountChecks() []Check {
	return []Check{
		check("account", "an account is known again, whatever opens it", checkAccount),
		check("account after rotation", "new credentials of an account are no other account", checkAccountRotated),
		check("another account", "an empty answer of another account says nothing about a machine", checkOtherAccount),
	}
}

// account returns the name of a session's account, or skips the check.
func account(ctx context.Context, s provider.Session) (string, error) {
	name, err := s.Account(ctx)
	if errors.Is(err, provider.ErrNoAccount) {
		return "", Skip("the provider cannot name accounts")
	}
	if err == nil && name == "" {
		return "", errors.New("the account has an empty name")
	}
	return name, err
}

func checkAccount(ctx context.Context, b *bench) error {
	name, err := account(ctx, b.session)
	if err != nil {
		return err
	}
	first := b.provider
	if err := b.restart(ctx); err != nil {
		return err
	}
	bare := b.class
	bare.Spec = nil
	classes := map[string]provider.Class{
		"the same class": b.class, "the class without a spec": bare,
		"another cluster": b.Class(b.api, b.class.Cluster+"-other"),
	}
	for _, api := range b.apis() {
		classes["a class of "+api] = b.Class(api, b.class.Cluster)
	}
	if b.Changed != nil {
		classes["another spec"] = b.Changed(b.class)
	}
	for what, class := range classes {
		for when, p := range map[string]provider.Provider{"before": first, "after": b.provider} {
			s, err := p.Open(ctx, class)
			if err != nil {
				return fmt.Errorf("open %s: %w", what, err)
			}
			if again, err := account(ctx, s); err != nil || again != name {
				return fmt.Errorf("the account is %q, and for %s, %s a restart, %q (error %w)", name, what, when, again, orNone(err))
			}
		}
	}
	return nil
}

func checkAccountRotated(ctx context.Context, b *bench) error {
	name, err := account(ctx, b.session)
	if err != nil {
		return err
	}
	if b.Rotate == nil {
		return Skip("the infrastructure cannot rotate credentials (Knobs.Rotate)")
	}
	was := b.class
	if b.class, err = b.Rotate(b.class); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	if again, err := account(ctx, b.session); err != nil || again != name {
		return fmt.Errorf("the account is %q, and with new credentials %q (error %w)", name, again, orNone(err))
	}
	s, err := b.provider.Open(ctx, was)
	if err == nil {
		_, err = account(ctx, s)
	}
	if provider.KindOf(err) != provider.Denied {
		return fmt.Errorf("credentials that hold no more open an account: error %w, want Denied", orNone(err))
	}
	return nil
}

func checkOtherAccount(ctx context.Context, b *bench) error {
	name, err := account(ctx, b.session)
	if err != nil {
		return err
	}
	if b.Elsewhere == nil {
		return Skip("the infrastructure has only one account (Knobs.Elsewhere)")
	}
	s, err := b.Elsewhere(ctx, b.class)
	if err != nil {
		return fmt.Errorf("open the class in another account: %w", err)
	}
	other, err := account(ctx, s)
	if err != nil {
		return fmt.Errorf("in another account: %w", err)
	}
	if other == name {
		return fmt.Errorf("two accounts are both called %q", name)
	}
	return nil
}
