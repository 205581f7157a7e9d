package providertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// bench is the state of one check: one API, one cluster, one provider process.
type bench struct {
	Harness
	api      string
	class    provider.Class
	provider provider.Provider
	session  provider.Session
	// pristine is a copy of class that no provider has received.
	pristine provider.Class
	// requests counts the requests to reboot.
	requests int
	// refused counts the creations of the check that the infrastructure refused as exhausted.
	refused int
}

// check returns a Check for a function that works on a bench.
func check(name, reason string, run func(context.Context, *bench) error) Check {
	return Check{Name: name, Reason: reason, Run: func(ctx context.Context, h Harness, api string) error {
		sum := sha256.Sum256([]byte(name + api))
		b := &bench{Harness: h, api: api}
		b.class = h.Class(api, "conf-"+hex.EncodeToString(sum[:4]))
		b.pristine = b.class
		b.pristine.Spec = bytes.Clone(b.class.Spec)
		b.pristine.Credentials = maps.Clone(b.class.Credentials)
		if err := b.restart(ctx); err != nil {
			return err
		}
		return run(ctx, b)
	}}
}

// restart replaces the provider by that of a new process.
func (b *bench) restart(ctx context.Context) error {
	b.provider = b.Start()
	return b.reopen(ctx)
}

// reopen opens the class again, as the engine does for each reconciliation.
func (b *bench) reopen(ctx context.Context) error {
	s, err := b.provider.Open(ctx, b.class)
	if err != nil {
		return fmt.Errorf("open a valid class: %w", err)
	}
	b.session = s
	return nil
}

// other opens the class of another cluster on the same infrastructure.
func (b *bench) other(ctx context.Context) (provider.Class, provider.Session, error) {
	class := b.Class(b.api, b.class.Cluster+"-other")
	s, err := b.provider.Open(ctx, class)
	if err != nil {
		err = fmt.Errorf("open the class of another cluster: %w", err)
	}
	return class, s, err
}

// ref names a machine of the bench's cluster. Its UID has the form of an API server's and is the same in
// every run.
func (b *bench) ref(name string) provider.Ref {
	sum := sha256.Sum256([]byte(b.class.Cluster + "/" + name))
	h := hex.EncodeToString(sum[:16])
	uid := fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32])
	return provider.Ref{UID: uid, Namespace: "machines", Name: name}
}

func want() provider.Want {
	return provider.Want{
		UserData: []byte("#cloud-config\n"),
		Role:     "worker",
	}
}

// want is the input of every creation of the bench.
func (b *bench) want() provider.Want {
	w := want()
	w.Attempt = b.refused
	if b.UserData != nil {
		w.UserData = bytes.Clone(b.UserData)
	}
	return w
}

// running creates an instance for the ref and waits until it runs.
func (b *bench) running(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
	made, err := b.session.Create(ctx, ref, b.want())
	if err != nil {
		return made, fmt.Errorf("create: %w", err)
	}
	return b.awaitRunning(ctx, ref)
}

func (b *bench) awaitRunning(ctx context.Context, ref provider.Ref) (i provider.Instance, err error) {
	err = b.eventually(ctx, "the instance is Running", func() (bool, error) {
		found, err := b.find(ctx, ref)
		if err != nil || len(found) == 0 {
			return false, err
		}
		if len(found) > 1 {
			return false, fmt.Errorf("find reports %d instances after one create", len(found))
		}
		i = found[0]
		return i.State == provider.Running, carryOn(ctx, b.session, ref, i)
	})
	return i, err
}

// carryOn acts as the engine does on an instance that is off and never ran. It leaves an instance that the
// infrastructure powers on by itself.
func carryOn(ctx context.Context, s provider.Session, ref provider.Ref, i provider.Instance) error {
	in, ok := provider.As[provider.Initializer](s)
	if !ok || !i.Uninitialized || i.State != provider.Stopped {
		return nil
	}
	err := in.Initialize(ctx, ref, i)
	switch provider.KindOf(err) {
	case "", provider.Transient, provider.Throttled, provider.Conflict:
		return nil // the caller repeats it
	}
	return fmt.Errorf("initialize: %w", err)
}

// find returns the existing instances of ref.
func (b *bench) find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	all, err := b.session.Find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("find: %w", err)
	}
	return provider.Existing(all), nil
}

// remove deletes the instances of ref until the provider reports done.
func (b *bench) remove(ctx context.Context, ref provider.Ref, instances []provider.Instance) error {
	return b.eventually(ctx, "delete is done", func() (bool, error) {
		done, err := b.session.Delete(ctx, ref, instances)
		if err != nil {
			return false, fmt.Errorf("delete: %w", err)
		}
		return done, nil
	})
}

// gone checks that nothing of ref exists, neither according to the provider nor, if the simulator can
// count, in the infrastructure.
func (b *bench) gone(ctx context.Context, ref provider.Ref) error {
	found, err := b.find(ctx, ref)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("find still reports %s", found[0].ID)
	}
	return b.holds(0)
}

// holds checks that the cluster has n instances, and no dependants when n is 0. It checks nothing when the
// simulator cannot count.
func (b *bench) holds(n int) error {
	if b.Count == nil {
		return nil
	}
	instances, dependants, err := b.Count(b.class)
	switch {
	case err != nil:
		return fmt.Errorf("count what the infrastructure holds: %w", err)
	case instances != n:
		return fmt.Errorf("the infrastructure holds %d instances, want %d", instances, n)
	case n == 0 && dependants > 0:
		return fmt.Errorf("the infrastructure still holds %d dependants", dependants)
	}
	return nil
}

// list collects a complete listing.
func (b *bench) list(ctx context.Context) ([]provider.Instance, error) {
	var all []provider.Instance
	for i, err := range b.session.List(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		all = append(all, i)
	}
	return all, nil
}

// step is the advance of the simulator's time between two reads, and pause the suite's wait instead when
// that time cannot be advanced.
const (
	step  = time.Second
	pause = 20 * time.Millisecond
)

// pass advances the simulator's time by d.
func (b *bench) pass(ctx context.Context, d time.Duration) error {
	if b.Advance != nil {
		b.Advance(d)
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// tick advances the time by a moment, so that cached reads and refusals expire.
func (b *bench) tick(ctx context.Context) error {
	if b.Advance == nil {
		return b.pass(ctx, pause)
	}
	return b.pass(ctx, step)
}

// eventually waits until look reports success, at most the harness's Patience.
func (b *bench) eventually(ctx context.Context, what string, look func() (bool, error)) error {
	patience, each := b.Patience, step
	if patience == 0 {
		patience = time.Minute
	}
	if b.Advance == nil {
		each = pause
	}
	for waited := time.Duration(0); ; waited += each {
		ok, err := look()
		if ok || err != nil {
			return err
		}
		if waited > patience {
			return fmt.Errorf("not within %v: %s", patience, what)
		}
		if err := b.tick(ctx); err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
	}
}

var errNotPrompt = errors.New("the call does not return promptly")

// promptly runs call and fails after the harness's Prompt.
func (b *bench) promptly(call func() error) error {
	limit := b.Prompt
	if limit == 0 {
		limit = 10 * time.Second
	}
	reply := make(chan error, 1)
	go func() { reply <- call() }()
	select {
	case err := <-reply:
		return err
	case <-time.After(limit):
		return fmt.Errorf("%w: nothing after %v", errNotPrompt, limit)
	}
}

// inject sets a fault, or skips the check.
func (b *bench) inject(v Verb, f Fault) error {
	if b.Inject == nil {
		return Skip("the infrastructure cannot inject faults (Knobs.Inject)")
	}
	return b.Inject(v, f)
}
