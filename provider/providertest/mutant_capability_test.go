package providertest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// altered is a session with some changed properties.
type altered struct {
	provider.Session
	traits  func(provider.Traits) provider.Traits
	status  func(provider.Instance) ([]byte, error)
	differs func(provider.Instance) []string
	account func(context.Context) (string, error)
}

func (a altered) Unwrap() any { return a.Session }

func (a altered) Traits() provider.Traits {
	if a.traits == nil {
		return a.Session.Traits()
	}
	return a.traits(a.Session.Traits())
}

func (a altered) Status(i provider.Instance) ([]byte, error) {
	if a.status == nil {
		return a.Session.Status(i)
	}
	return a.status(i)
}

func (a altered) Differences(ref provider.Ref, i provider.Instance) []string {
	if a.differs == nil {
		return a.Session.Differences(ref, i)
	}
	return a.differs(i)
}

func (a altered) Account(ctx context.Context) (string, error) {
	if a.account == nil {
		return a.Session.Account(ctx)
	}
	return a.account(ctx)
}

// alters returns a mutant whose sessions have changed properties.
func alters(a altered) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		return mutant{Provider: p, session: func(_ provider.Class, s provider.Session) provider.Session {
			a.Session = s
			return a
		}}
	}
}

// offering is a session with a capability T of its own, which replaces that of the session.
type offering[T any] struct {
	provider.Session
	own T
}

func (o offering[T]) Unwrap() any { return o.Session }

func (o offering[T]) As(target any) bool {
	t, ok := target.(*T)
	if ok {
		*t = o.own
	}
	return ok
}

// offers returns a mutant whose sessions have a capability that f derives from theirs.
func offers[T any](f func(T) T) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		return mutant{Provider: p, session: func(_ provider.Class, s provider.Session) provider.Session {
			inner, ok := provider.As[T](s)
			if !ok {
				panic("the reference provider has no such capability")
			}
			return offering[T]{s, f(inner)}
		}}
	}
}

type onceInitializer struct {
	provider.Initializer
	done bool
}

func (i *onceInitializer) Initialize(context.Context, provider.Ref, provider.Instance) error {
	if i.done {
		return provider.Errorf(provider.Invalid, "already initialized")
	}
	i.done = true
	return nil
}

type idleMaintainer struct{ provider.Maintainer }

func (idleMaintainer) Maintain(context.Context, provider.Ref, provider.Instance) error { return nil }

type vagueSizer struct{ provider.Sizer }

func (v vagueSizer) Size(ctx context.Context) (provider.Size, error) {
	size, err := v.Sizer.Size(ctx)
	size.Taints = []corev1.Taint{{Key: "example/booting"}}
	return size, err
}

type emptySizer struct{ provider.Sizer }

func (emptySizer) Size(context.Context) (provider.Size, error) { return provider.Size{}, nil }

func restlessStatus(provider.Instance) ([]byte, error) {
	return fmt.Appendf(nil, `{"observed":%d}`, serial.Add(1)), nil
}

// inclusiveLister also lists dependants of an existing instance.
type inclusiveLister struct {
	provider.LeftoverLister
	session provider.Session
}

func (l inclusiveLister) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		for i, err := range l.session.List(ctx) {
			if !yield(provider.Leftover{Kind: "disk", ID: "of-" + i.ID, UID: i.UID}, err) {
				return
			}
		}
	}
}

func listsUsedDisks(p provider.Provider) provider.Provider {
	return mutant{Provider: p, session: func(_ provider.Class, s provider.Session) provider.Session {
		inner, ok := provider.As[provider.LeftoverLister](s)
		if !ok {
			panic("the reference provider has no such capability")
		}
		return offering[provider.LeftoverLister]{s, inclusiveLister{inner, s}}
	}}
}

// teller changes the reported instances.
type teller struct {
	provider.Session
	change func(*provider.Instance)
}

func (t teller) Unwrap() any { return t.Session }

func (t teller) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, err := t.Session.Find(ctx, ref)
	for n := range found {
		t.change(&found[n])
	}
	return found, err
}

func tells(change func(*provider.Instance)) func(provider.Provider) provider.Provider {
	return func(p provider.Provider) provider.Provider {
		return mutant{Provider: p, session: func(_ provider.Class, s provider.Session) provider.Session { return teller{s, change} }}
	}
}

type deafPowerer struct{ provider.Powerer }

func (deafPowerer) Power(context.Context, provider.Ref, provider.Instance, provider.PowerOp, string) error {
	return nil
}

// forgetfulPowerer treats every request as a new one, deafRebooter none.
type (
	forgetfulPowerer struct{ provider.Powerer }
	deafRebooter     struct{ provider.Powerer }
)

func (f forgetfulPowerer) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	return f.Powerer.Power(ctx, ref, i, op, fmt.Sprint(serial.Add(1)))
}

func (d deafRebooter) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	if op == provider.Reboot {
		return nil
	}
	return d.Powerer.Power(ctx, ref, i, op, request)
}

type brokenReader struct{ provider.Provider }

func (brokenReader) ReadSpec(string, []byte) (provider.SpecNames, error) {
	return provider.SpecNames{}, errors.New("the spec is not understood")
}

type misnamed struct{ provider.Provider }

func (misnamed) Name() string { return "My Provider" }

// scribbling writes into the class that it receives.
func scribbling(p provider.Provider) provider.Provider {
	return openOnly{p, func(ctx context.Context, c provider.Class) (provider.Session, error) {
		s, err := p.Open(ctx, c)
		if err == nil {
			c.Credentials["session"] = []byte("open")
		}
		return s, err
	}}
}

func capabilityMutations() []mutation {
	return []mutation{
		{
			"a name with a blank", "name", "metrics and binaries are named after it",
			func(p provider.Provider) provider.Provider { return misnamed{p} },
		},
		{"writes into the class", "arguments untouched", "callers share it", scribbling},
		{
			"initializes once only", "initializer", "it is repeated after a crash",
			offers(func(i provider.Initializer) provider.Initializer { return &onceInitializer{Initializer: i} }),
		},
		{
			"maintains nothing", "maintainer", "what people took away stays away",
			offers(func(m provider.Maintainer) provider.Maintainer { return idleMaintainer{m} }),
		},
		{
			"a class of no size", "sizer", "the autoscaler would never choose it",
			offers(func(s provider.Sizer) provider.Sizer { return emptySizer{s} }),
		},
		{
			"a taint without an effect", "sizer", "the autoscaler does not read it, and pods are taken to fit",
			offers(func(s provider.Sizer) provider.Sizer { return vagueSizer{s} }),
		},
		{
			"status with a counter", "status", "the object is written at every look",
			alters(altered{status: restlessStatus}),
		},
		{
			"power does nothing", "powerer", "a reboot is believed that never was",
			offers(func(p provider.Powerer) provider.Powerer { return deafPowerer{p} }),
		},
		{
			"reboots again for the same request", "reboots once", "a lost reply costs another reboot, and another",
			offers(func(p provider.Powerer) provider.Powerer { return forgetfulPowerer{p} }),
		},
		{
			"reboots never", "reboots once", "a reboot is believed that never was",
			offers(func(p provider.Powerer) provider.Powerer { return deafRebooter{p} }),
		},
		{
			"nodes are to be told who they are, and nothing leads to them", "nodes identified", "no node is ever known to be a machine's",
			tells(func(i *provider.Instance) { i.NodeName, i.Addresses = "", nil }),
		},
		{
			"a provider ID that says when it was asked for", "nodes identified", "what a node was told is not its instance's any more",
			tells(func(i *provider.Instance) { i.ProviderID += fmt.Sprintf("-%d", serial.Add(1)) }),
		},
		{"calls disks in use left over", "leftovers listed", "the collector takes the disks of living machines", listsUsedDisks},
		{
			"refuses its own spec", "spec reader", "no secret is ever found",
			func(p provider.Provider) provider.Provider { return brokenReader{p} },
		},
	}
}

// TestEveryCheckCanFail: a check that no mutant fails proves nothing.
func TestEveryCheckCanFail(t *testing.T) {
	for _, c := range providertest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			for _, m := range allMutations() {
				// This mutant fails by using up the harness's Prompt: other mutants test the other checks.
				if m.caught == "cancelled midway" && c.Name != m.caught {
					continue
				}
				if err := runMutant(t, c, m); err != nil && !providertest.Skipped(err) {
					return
				}
			}
			t.Error("every mutant passes")
		})
	}
}

func runMutant(t *testing.T, c providertest.Check, m mutation) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Run(ctx, harness(m.wrap), provider.OpenShift)
}
