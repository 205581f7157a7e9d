package providertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

func faultChecks() []Check {
	return []Check{
		check("given up", "a machine whose instance was accepted and never came has to say why, and to go", checkGivenUp),
	}
}

// checkGivenUp lets the infrastructure fail an instance that it has accepted.
func checkGivenUp(ctx context.Context, b *bench) error {
	if b.GiveUp == nil {
		return Skip("the infrastructure cannot fail an instance (Knobs.GiveUp)")
	}
	ref := b.ref("m")
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := b.GiveUp(b.class, made.ID); err != nil {
		return err
	}
	i, err := b.awaitFault(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.faultyEverywhere(ctx, ref, i); err != nil {
		return err
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	if again, err := b.awaitFault(ctx, ref); err != nil || again.ID != i.ID {
		return fmt.Errorf("in a fresh process: %q, error %w", again.ID, orNone(err))
	}
	if err := b.remove(ctx, ref, provider.Existing([]provider.Instance{i})); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

// awaitFault waits until the instance of ref reports why it failed.
func (b *bench) awaitFault(ctx context.Context, ref provider.Ref) (i provider.Instance, err error) {
	err = b.eventually(ctx, "the instance has a fault", func() (bool, error) {
		all, err := b.session.Find(ctx, ref)
		switch {
		case err != nil:
			return false, fmt.Errorf("a fault is no error of find: %w", err)
		case len(all) != 1:
			return false, fmt.Errorf("find reports %d instances", len(all))
		case all[0].State == provider.Running:
			return false, errors.New("an instance that failed runs")
		}
		i = all[0]
		return i.Fault != nil, carryOn(ctx, b.session, ref, i)
	})
	if err != nil {
		return i, err
	}
	switch {
	case i.Fault.Kind != provider.Exhausted || i.Fault.Err == nil || i.Fault.Error() == "":
		return i, fmt.Errorf("the fault is %q of kind %s: want Exhausted, with a cause", i.Fault.Error(), i.Fault.Kind)
	case i.State == provider.Pending:
		return i, errors.New("an instance that failed is Pending: the engine would wait for it")
	}
	return i, describes(i, ref)
}

// faultyEverywhere checks that a listing reports the same, and that no second instance is created while a
// part of the first exists.
func (b *bench) faultyEverywhere(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if !i.Exists() {
		return nil
	}
	all, err := b.list(ctx)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.ID == i.ID && (l.Fault == nil || l.Fault.Kind != i.Fault.Kind) {
			return errors.New("a listing does not show the fault")
		}
	}
	if again, err := b.session.Create(ctx, ref, b.want()); err == nil && again.ID != i.ID {
		return fmt.Errorf("create creates %s beside %s, which failed", again.ID, i.ID)
	}
	return b.holds(1)
}
