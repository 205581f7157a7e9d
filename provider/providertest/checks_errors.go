package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

func errorChecks() []Check {
	checks := []Check{
		check("quota", "a machine waits for capacity, it does not fail for good", kindOn(Create, Fault{Kind: provider.Exhausted})),
		check("create invalid", "a spec that the infrastructure refuses is reported, not retried", kindOn(Create, Fault{Kind: provider.Invalid})),
		check("throttled", "the engine waits as long as the infrastructure asks", checkThrottled),
		check("rotated credentials", "new credentials hold at once; old ones see nothing rather than emptiness", checkRotated),
	}
	for _, v := range []Verb{Find, Create, Delete, List} {
		for _, k := range []provider.Kind{provider.Denied, provider.Throttled, provider.Transient} {
			checks = append(checks, check(fmt.Sprintf("%s %s", v, k),
				"the reaction depends on the kind of failure, and a failed read is never emptiness", kindOn(v, Fault{Kind: k})))
		}
	}
	return checks
}

// kindOn checks that a fault in the verb is returned as an error of its kind, and that the verb works again
// afterwards. The provider's own retry may hide a Transient fault.
func kindOn(v Verb, f Fault) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		ref := b.ref("m")
		if v != Create {
			if _, err := b.running(ctx, ref); err != nil {
				return err
			}
		}
		if err := errors.Join(b.tick(ctx), b.inject(v, f)); err != nil {
			return err
		}
		empty, err := b.call(ctx, v, ref)
		if k := provider.KindOf(err); k != f.Kind && (err != nil || f.Kind != provider.Transient) {
			return fmt.Errorf("%s during %s comes out as %q: %w", f.Kind, v, k, orNone(err))
		}
		if err == nil && empty {
			return fmt.Errorf("%s during %s comes out as nothing there", f.Kind, v)
		}
		if v == Create && f.Kind == provider.Exhausted {
			b.refused++
		}
		if err := b.tick(ctx); err != nil {
			return err
		}
		if v == Delete {
			return b.remove(ctx, ref, nil)
		}
		if _, err := b.running(ctx, ref); err != nil {
			return fmt.Errorf("after the fault: %w", err)
		}
		return b.holds(1)
	}
}

// call makes one call of the verb and reports whether the answer is empty.
func (b *bench) call(ctx context.Context, v Verb, ref provider.Ref) (empty bool, err error) {
	switch v {
	case Find:
		found, err := b.session.Find(ctx, ref)
		return len(found) == 0, err
	case Create:
		i, err := b.session.Create(ctx, ref, b.want())
		return i.ID == "", err
	case Delete:
		_, err := b.session.Delete(ctx, ref, nil)
		return false, err
	case List:
		n := 0
		for _, err := range b.session.List(ctx) {
			if err != nil {
				return n == 0, err
			}
			n++
		}
		return n == 0, nil
	}
	return false, fmt.Errorf("no such verb: %s", v)
}

func checkThrottled(ctx context.Context, b *bench) error {
	const after = 17 * time.Second
	if err := b.inject(Create, Fault{Kind: provider.Throttled, After: after}); err != nil {
		return err
	}
	_, err := b.session.Create(ctx, b.ref("m"), b.want())
	if k := provider.KindOf(err); k != provider.Throttled {
		return fmt.Errorf("throttling comes out as %q: %w", k, orNone(err))
	}
	// Headers with a date lose up to a second.
	if got := provider.AfterOf(err); got < after-time.Second || got > after+time.Second {
		return fmt.Errorf("asks to wait %v, the infrastructure said %v", got, after)
	}
	return nil
}

func checkRotated(ctx context.Context, b *bench) error {
	if b.Rotate == nil {
		return Skip("the infrastructure cannot rotate credentials (Knobs.Rotate)")
	}
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	rotated, err := b.Rotate(b.class)
	if err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	if err := b.tick(ctx); err != nil {
		return err
	}
	if empty, err := b.call(ctx, Find, ref); provider.KindOf(err) != provider.Denied {
		return fmt.Errorf("find with old credentials: empty %t, want a Denied error, got %w", empty, orNone(err))
	}
	if _, err := b.session.Delete(ctx, ref, []provider.Instance{i}); provider.KindOf(err) != provider.Denied {
		return fmt.Errorf("delete with old credentials: want a Denied error, got %w", orNone(err))
	}
	b.class = rotated
	if b.session, err = b.provider.Open(ctx, rotated); err != nil {
		return fmt.Errorf("open with new credentials in the same process: %w", err)
	}
	found, err := b.only(ctx, ref)
	if err != nil {
		return fmt.Errorf("with new credentials: %w", err)
	}
	if found.ID != i.ID {
		return errors.New("new credentials see another instance")
	}
	return b.remove(ctx, ref, []provider.Instance{found})
}
