package providertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
)

// Chance is a random fault.
type Chance struct {
	Verb Verb
	// P is the probability, from 0 to 1, of each call of the verb.
	P     float64
	Fault Fault
}

// Faults injects faults into providers: requested ones ([Faults.Inject], [Faults.Lag]) and those of a
// seeded source. Its state outlives the providers that it wraps, as an infrastructure outlives a process.
// It is safe for concurrent use; with one caller at a time, the seed determines every fault.
type Faults struct {
	clock clock.Clock

	mu      sync.Mutex
	rand    *rand.Rand
	chances []Chance
	script  map[Verb][]Fault
	fired   int
	lag     time.Duration
	marks   map[string]mark // by cluster and instance ID
	twins   map[string]bool // by cluster and UID
}

// NewFaults returns a source with these chances; r may be nil without chances.
func NewFaults(clk clock.Clock, r *rand.Rand, chances ...Chance) *Faults {
	return &Faults{
		clock: clk, rand: r, chances: chances,
		script: map[Verb][]Fault{}, marks: map[string]mark{}, twins: map[string]bool{},
	}
}

// Wrap decorates p. Capabilities stay reachable; those with a [Verb] fail too.
func (f *Faults) Wrap(p provider.Provider) provider.Provider {
	return &faulty{Provider: p, faults: f}
}

// Inject makes the next call of the verb fail; faults of a verb queue up. It is a [Knobs.Inject].
func (f *Faults) Inject(v Verb, fault Fault) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script[v] = append(f.script[v], fault)
	return nil
}

// Lag hides new instances, and still shows removed ones, for d after the call. It is a [Knobs.Lag].
// Sessions then have a [provider.Traits].ReadLag.
func (f *Faults) Lag(d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lag = d
	return nil
}

// Stop ends the random faults; the simulator then expects convergence.
func (f *Faults) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chances = nil
}

// Fired counts the faults that have happened.
func (f *Faults) Fired() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// next returns the fault for a call of the verb; the zero Fault means no fault.
func (f *Faults) next(v Verb) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if q := f.script[v]; len(q) > 0 {
		f.script[v] = q[1:]
		f.fired++
		return q[0]
	}
	for _, c := range f.chances {
		if c.Verb == v && f.rand.Float64() < c.P {
			f.fired++
			return c.Fault
		}
	}
	return Fault{}
}

// visit makes a call of the verb with the next fault, if any.
func (f *Faults) visit(ctx context.Context, v Verb, do func(context.Context) error) error {
	return f.happen(ctx, v, f.next(v), do)
}

// happen makes a call with the fault.
func (f *Faults) happen(ctx context.Context, v Verb, fault Fault, do func(context.Context) error) error {
	if err := f.wait(ctx, fault.Slow); err != nil {
		return fmt.Errorf("slow %s: %w", v, err)
	}
	if fault.Done || fault.Kind == "" && !fault.Stall {
		if err := do(ctx); err != nil {
			return err
		}
	}
	if fault.Stall {
		<-ctx.Done()
		return fmt.Errorf("%s without an answer: %w", v, ctx.Err())
	}
	return fault.err(v)
}

func (f *Faults) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := f.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// err is the error that the fault returns; nil if it has another effect.
func (f Fault) err(v Verb) error {
	if f.Kind == "" {
		return nil
	}
	e := provider.Errorf(f.Kind, "injected into %s: %s", v, f.Kind)
	if f.Done {
		e.Err = fmt.Errorf("injected into %s: the reply is lost", v)
	}
	e.After, e.Scope = f.After, f.Scope
	return e
}
