package providertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

func repetitionChecks() []Check {
	return []Check{
		check("create twice", "create is repeated whenever its outcome was not recorded", checkTwice),
		check("create concurrently", "an old and a new leader may create at the same time", checkConcurrently),
		check("crash after create", "a fresh process creates again what the infrastructure accepted", checkCrash),
		check("reply lost", "the infrastructure may do what it did not answer", checkReplyLost),
		check("reply to delete lost", "the infrastructure may remove what it did not answer for", checkDeleteReplyLost),
		check("listing lag", "reads that run behind must not lead to a second instance", checkLag),
		check("cancelled before", "a cancelled call returns promptly and does no harm", checkCancelledBefore),
		check("cancelled midway", "a call that is canceled returns, and what it created can be found", checkCancelledMidway),
	}
}

// lookingIsNotEnough is the message for providers whose only protection is to look before they create.
const lookingIsNotEnough = "to look first does not help while neither sees the other's instance; " +
	"make it of something that the infrastructure refuses to have twice (docs/write-a-provider.md, Creating once)"

// again checks that another create returns the instance with the given ID and that there is no second one.
func (b *bench) again(ctx context.Context, ref provider.Ref, id string) error {
	i, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create again: %w", err)
	}
	if id != "" && i.ID != id {
		return fmt.Errorf("create again made %s beside %s", i.ID, id)
	}
	if _, err := b.awaitRunning(ctx, ref); err != nil {
		return err
	}
	return b.holds(1)
}

func checkTwice(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	i, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := b.again(ctx, ref, i.ID); err != nil {
		return err
	}
	// Once more when it runs.
	return b.again(ctx, ref, i.ID)
}

func checkConcurrently(ctx context.Context, b *bench) error {
	const callers = 8
	ref := b.ref("m")
	var wg sync.WaitGroup
	made, errs := make([]provider.Instance, callers), make([]error, callers)
	for n := range callers {
		wg.Go(func() {
			s, err := b.Start().Open(ctx, b.class)
			if err == nil {
				made[n], err = s.Create(ctx, ref, b.want())
			}
			errs[n] = err
		})
	}
	wg.Wait()
	id := ""
	for n := range callers {
		switch {
		case errs[n] != nil && provider.KindOf(errs[n]) != provider.Conflict:
			return fmt.Errorf("one of %d callers: %w", callers, errs[n])
		case errs[n] != nil:
			continue
		case id != "" && made[n].ID != id:
			return fmt.Errorf("callers were given %s and %s: %s", id, made[n].ID, lookingIsNotEnough)
		}
		id = made[n].ID
	}
	if id == "" {
		return errors.New("no caller was given an instance")
	}
	return b.again(ctx, ref, id)
}

func checkCrash(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	i, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	return b.again(ctx, ref, i.ID)
}

func checkReplyLost(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	if err := b.inject(Create, Fault{Kind: provider.Transient, Done: true}); err != nil {
		return err
	}
	// A provider may have noticed and retried by itself.
	i, err := b.session.Create(ctx, ref, b.want())
	if err != nil && provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("a lost reply is read as %s: %w", provider.KindOf(err), err)
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	return b.again(ctx, ref, i.ID)
}

func checkDeleteReplyLost(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	i, err := b.running(ctx, ref)
	if err != nil {
		return err
	}
	if err := b.inject(Delete, Fault{Kind: provider.Transient, Done: true}); err != nil {
		return err
	}
	if _, err := b.session.Delete(ctx, ref, []provider.Instance{i}); err != nil && provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("a lost reply is read as %s: %w", provider.KindOf(err), err)
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkLag(ctx context.Context, b *bench) error {
	const lag = 5 * time.Second
	if b.Lag == nil {
		return Skip("the infrastructure cannot delay reads (Knobs.Lag)")
	}
	if err := errors.Join(b.Lag(lag), b.reopen(ctx)); err != nil {
		return err
	}
	ref := b.ref("m")
	i, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) == 0 && b.session.Traits().ReadLag == 0 {
		return errors.New("find does not see what create has just made, and the session has no ReadLag that says so")
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return fmt.Errorf("create again behind a lag: %w", err)
	}
	if made.ID != i.ID {
		return fmt.Errorf("create again behind a lag made %s beside %s: %s", made.ID, i.ID, lookingIsNotEnough)
	}
	return b.afterLag(ctx, ref, max(lag, b.session.Traits().ReadLag))
}

// afterLag checks that a new instance is visible once the lag is over, and that a removed one is no longer
// visible once it is over again.
func (b *bench) afterLag(ctx context.Context, ref provider.Ref, lag time.Duration) error {
	if err := b.pass(ctx, lag+step); err != nil {
		return err
	}
	i, err := b.only(ctx, ref)
	if err != nil {
		return fmt.Errorf("after the lag: %w", err)
	}
	if err := b.holds(1); err != nil {
		return err
	}
	if err := b.remove(ctx, ref, []provider.Instance{i}); err != nil {
		return err
	}
	if err := b.pass(ctx, lag+step); err != nil {
		return err
	}
	return b.gone(ctx, ref)
}

func checkCancelledBefore(ctx context.Context, b *bench) error {
	ref := b.ref("m")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	err := b.promptly(func() error {
		if _, err := b.session.Create(cancelled, ref, b.want()); err != nil && provider.KindOf(err) != provider.Transient {
			return fmt.Errorf("a cancelled create is read as %s: %w", provider.KindOf(err), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.again(ctx, ref, "")
}

func checkCancelledMidway(ctx context.Context, b *bench) error {
	for _, done := range []bool{false, true} {
		if err := b.cancelMidway(ctx, done); err != nil {
			return fmt.Errorf("create cancelled while it waits for an answer (infrastructure did it: %t): %w", done, err)
		}
	}
	return nil
}

func (b *bench) cancelMidway(ctx context.Context, done bool) error {
	ref := b.ref(fmt.Sprintf("m-%t", done))
	if err := b.inject(Create, Fault{Stall: true, Done: done}); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err := b.promptly(func() error {
		_, err := b.session.Create(short, ref, b.want())
		return err
	})
	if errors.Is(err, errNotPrompt) {
		return err
	}
	if err == nil {
		return errors.New("create reports an instance although the infrastructure never answered")
	}
	if provider.KindOf(err) != provider.Transient {
		return fmt.Errorf("read as %s: %w", provider.KindOf(err), err)
	}
	// The instance of the first round stays: the check looks only at ref's.
	if _, err := b.running(ctx, ref); err != nil {
		return err
	}
	_, err = b.only(ctx, ref)
	return err
}
