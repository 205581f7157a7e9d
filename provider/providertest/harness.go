package providertest

import (
	"context"
	"regexp"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Verb names a call of the provider contract.
type Verb string

// The verbs. The last are those of optional interfaces.
const (
	Open   Verb = "open"
	Find   Verb = "find"
	Create Verb = "create"
	Delete Verb = "delete"
	List   Verb = "list"

	Initialize Verb = "initialize"
	Maintain   Verb = "maintain"
	Power      Verb = "power"
	Leftovers  Verb = "leftovers"
)

// Fault is a single failure. The zero Fault is no fault.
type Fault struct {
	// Kind classifies the error; empty with Stall or Slow alone.
	Kind provider.Kind
	// After is the delay that a Throttled answer asks for.
	After time.Duration
	// Done says that the infrastructure carries out the call and only the reply is lost. Without it the
	// call does not reach the infrastructure.
	Done bool
	// Stall says that no reply arrives: the call hangs until its context is done.
	Stall bool
	// Slow delays the call, in the simulator's time.
	Slow time.Duration
	// Partial lets a List fail only after this many instances, or a page more.
	Partial int
	// Scope is the extent of an Exhausted fault; empty: unknown.
	Scope provider.Scope
	// Duplicate makes a Create create two instances and report one.
	Duplicate bool
}

// BadSpec is a provider spec with one fault in it.
type BadSpec struct {
	// Reason says what is wrong, as a sentence.
	Reason string
	// API is the group of the spec; empty for both.
	API string
	// Spec is the raw spec; Field the path that the error has to name.
	Spec, Field string
}

// Harness connects the suite with one provider and its simulator.
//
// Start and Class are required. A knob may be nil if the simulator cannot do it: checks that need it are
// skipped, and report the reason. A knob that supports only some of its arguments returns [Skip] for the
// others.
type Harness struct {
	// Start returns a provider in the state of a new process: it knows only what the infrastructure stores.
	// A second call is a restart.
	Start func() provider.Provider
	// Class returns a valid class of the API for the cluster. Classes of one
	// API differ only in their cluster.
	Class func(api, cluster string) provider.Class
	// UserData is boot data that the infrastructure accepts; nil for that of
	// cloud-init.
	UserData []byte
	// APIs are the groups that the provider serves; empty for both.
	APIs []string
	// ProviderID has, by API, the pattern of a whole provider ID; nil leaves the format unchecked.
	ProviderID map[string]*regexp.Regexp
	// Spellings are further provider IDs that may name i: former formats, other case. Nil: only those of the
	// APIs.
	Spellings func(i provider.Instance) []string
	// Changed returns the class with another valid spec, from which another instance would be created; nil
	// skips the check.
	Changed func(class provider.Class) provider.Class
	// Incomparable says that the infrastructure does not report how an instance was created, so that its
	// Differences are empty.
	Incomparable bool
	// Choices returns the class with a spec that has at least two choices ([provider.Traits]), of different
	// zones or types; nil skips the checks of those.
	Choices func(class provider.Class) provider.Class
	// BadSpecs are specs that Open has to refuse; see [provider.Provider].
	BadSpecs []BadSpec
	// PageSize is the number of instances on a page of the simulator's listings; 0 if they have no pages.
	// Keep it below 20: the suite fills two pages.
	PageSize int
	// Patience is how long an instance may take, in the simulator's time, from Create to Running and from
	// Delete to its end; 0 for a minute.
	Patience time.Duration
	// Prompt is how long, in real time, a call may take, also when its context is cancelled; 0 for 10 s.
	Prompt time.Duration

	Knobs
}

// Knobs are the functions of a simulator beyond running instances. If a simulator has no faults of its own,
// Inject and Lag may be those of a [Faults] around the provider: this tests less (not how the provider
// itself reads errors), but more than without.
type Knobs struct {
	// Advance advances the simulator's time. Nil for a simulator that runs in real time: the suite then
	// waits for it.
	Advance func(d time.Duration)
	// Inject makes the infrastructure fail the next call that serves the verb.
	Inject func(verb Verb, f Fault) error
	// Lag makes reads lag behind writes by d from now on.
	Lag func(d time.Duration) error
	// Plant creates a running instance around the provider, in the class's cluster, with the class's owner
	// and the UID, namespace and name of i. With an empty UID it looks like another implementation's
	// instance of that name.
	Plant func(class provider.Class, i provider.Instance) error
	// Remove makes the instance disappear around the provider.
	Remove func(class provider.Class, id string) error
	// GiveUp lets the infrastructure fail, for lack of capacity, an instance that it has accepted and that
	// does not run yet, at the latest when it would run.
	GiveUp func(class provider.Class, id string) error
	// Strip removes from the instance, around the provider, a setting that users may remove and the
	// provider restores: a tag, the membership of a load balancer.
	Strip func(class provider.Class, id string) error
	// Leave leaves the objects of a create that failed half way: dependants of ref (disk, NIC, port)
	// without an instance, with the class's owner.
	Leave func(class provider.Class, ref provider.Ref) error
	// Count counts the billed objects of the class's cluster, read around the provider: existing instances
	// and dependants (those of instances included).
	Count func(class provider.Class) (instances, dependants int, err error)
	// Rotate invalidates class's credentials and returns the class with the valid ones.
	Rotate func(class provider.Class) (provider.Class, error)
	// Elsewhere opens the class in another account.
	Elsewhere func(ctx context.Context, class provider.Class) (provider.Session, error)
}
