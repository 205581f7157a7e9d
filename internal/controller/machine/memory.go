package machine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/written"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// memory is what the process knows about machines and the objects do not say.
// Losing it costs a repeated question, never a wrong answer.
type memory struct {
	mu  *sync.Mutex
	all map[types.NamespacedName]*remembered
	// shortages are shared by all machines.
	shortages *shortages
	// versions are of the machines that are remembered.
	versions *written.Versions
}

func newMemory() memory {
	return memory{mu: &sync.Mutex{}, all: map[types.NamespacedName]*remembered{}, shortages: newShortages(), versions: &written.Versions{}}
}

// remembered is about one machine. Only the worker that has the machine in
// hand uses it.
type remembered struct {
	uid types.UID
	// generation and class are those that retry is about: a new spec, a new
	// class or new credentials get a new try.
	generation int64
	class      provider.ClientKey
	source     provider.ClientKey
	retry      lifecycle.Retry
	// released is when our finalizer was taken off an object under deletion. The cache
	// may still show the object with it.
	released time.Time
	// quietSince is when the machine was first looked at, or an instance last
	// asked for.
	quietSince time.Time
	// last is what was asked for last. A new spec or an answer to something else ends
	// the retry, and not this.
	last         asking
	removalSince time.Time
	// seenToGo says that the instance was reported during the machine's deletion,
	// and asked to go.
	seenToGo bool
	// refusedSince is since when the cluster that machines join refuses what the
	// machine's deletion asks of it.
	refusedSince time.Time
	// preserveFault says that a wish to keep the machine which means nothing was
	// told.
	preserveFault bool
	// reboot is what came of the last one.
	reboot lifecycle.Rebooting
	token  tokenState
	// otherAccount is the account that was last told not to be the machine's.
	otherAccount string
	// refusal is why the machine could not be saved, and when that was told.
	refusal lifecycle.Retry
	// overdue is what was last told to be overdue.
	overdue string
	// drainSince is when the drain for its deletion began, drained that this is
	// over; instanceType and zone are what its instance was and where. All are
	// for the metrics of deletions.
	drainSince         time.Time
	drained            bool
	instanceType, zone string
	// What follows is guarded by the memory's lock: others read it.

	instance instance
	// drains says that pods are waited for.
	drains bool
}

func (m memory) of(o client.Object) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	r := m.all[key]
	if r == nil || r.uid != o.GetUID() {
		m.drop(key)
		r = &remembered{uid: o.GetUID()}
		m.all[key] = r
	}
	if r.generation != o.GetGeneration() {
		r.generation, r.retry = o.GetGeneration(), lifecycle.Retry{}
	}
	return r
}

// madeFrom notes what the machine is made from.
func (r *remembered) madeFrom(c dialect.Class) {
	key := provider.KeyOf(c.Credentials, string(c.Spec), string(c.UserData))
	if r.class != key {
		r.class, r.retry = key, lifecycle.Retry{}
	}
}

// openedFrom notes what else a session was opened from than its class. What is
// rotated there gets a new try, as rotated credentials do.
func (r *remembered) openedFrom(s provider.Session) {
	from, ok := provider.As[provider.Sourced](s)
	if !ok {
		return
	}
	if source := from.Source(); r.source != source {
		if r.source != "" {
			r.retry = lifecycle.Retry{}
		}
		r.source = source
	}
}

func (m memory) note(key types.NamespacedName, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.all[key]; r != nil {
		change(r)
	}
}

// knows reports whether that is so of what is remembered of a machine.
func (m memory) knows(key types.NamespacedName, is func(*remembered) bool) (so bool) {
	m.note(key, func(r *remembered) { so = is(r) })
	return so
}

// drains notes whether the machine waits for the pods of its node.
func (m memory) drains(key types.NamespacedName, waits bool) {
	m.note(key, func(r *remembered) { r.drains = waits })
}

func (m memory) podsAwaited(key types.NamespacedName) bool {
	return m.knows(key, func(r *remembered) bool { return r.drains })
}

func (m memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

// drop forgets a machine; the lock is held.
func (m memory) drop(key types.NamespacedName) {
	if r := m.all[key]; r != nil {
		m.versions.Forget(r.uid)
		delete(m.all, key)
	}
}

// failed notes that step failed, and returns all that is known of the failures
// in a row.
func (r *remembered) failed(step lifecycle.Step, err error, now time.Time) lifecycle.Retry {
	n, told := 1, time.Time{}
	if r.retry.Step == step {
		n = r.retry.Failures + 1
		told = r.retry.Told
	}
	r.retry = lifecycle.Retry{Err: err, Step: step, At: now, Failures: n, Told: told}
	return r.retry
}

func (r *remembered) succeeded() lifecycle.Retry {
	r.retry = lifecycle.Retry{}
	return r.retry
}

// answered ends a row of failures to ask.
func (r *remembered) answered() {
	if r.retry.Step == lifecycle.Await {
		r.retry = lifecycle.Retry{}
	}
}

// asking is an attempt to create.
type asking struct {
	// order is the choice; zero: there are no several.
	order choice.Order
	// err is [lifecycle.Unlisted].CreateErr.
	err error
}

// asked notes that an instance was asked for, and what came of it. Absence has to be
// proved anew after it.
func (r *remembered) asked(o choice.Order, err error, now time.Time) {
	r.quietSince, r.last = now, asking{order: o}
	if err != nil && provider.KindOf(err) == provider.Transient {
		r.last.err = err
	}
}

// unanswered is the name of the choice that was last asked for without a clear answer;
// empty: there is none.
func (r *remembered) unanswered() string {
	if r.last.err == nil {
		return ""
	}
	return r.last.order.Choice
}

// quiet returns for how long nothing was asked for.
func (r *remembered) quiet(now time.Time) time.Duration {
	if r.quietSince.IsZero() {
		r.quietSince = now
	}
	return now.Sub(r.quietSince)
}

// removing returns for how long removal has been asked for.
func (r *remembered) removing(now time.Time) time.Duration {
	if r.removalSince.IsZero() {
		r.removalSince = now
	}
	return now.Sub(r.removalSince)
}

// refused notes whether the cluster that machines join did what a deletion asked
// of it, and returns for how long it has not.
func (r *remembered) refused(err error, now time.Time) time.Duration {
	switch {
	case err == nil:
		r.refusedSince = time.Time{}
		return 0
	case r.refusedSince.IsZero():
		r.refusedSince = now
	}
	return now.Sub(r.refusedSince)
}

// news reports whether d is overdue and that was not told before.
func (r *remembered) news(d lifecycle.Decision) bool { return d.Overdue && r.overdue != d.Message }

// told notes that people heard of o: of what could not be saved they did not.
func (r *remembered) told(o lifecycle.Outcome) {
	if o.Overdue {
		r.overdue = o.Message
	}
	r.preserveFault = o.Preserve.Wish.Refused || o.Preserve.Wish.Ignored
	if o.World.Retry.News(o.At) {
		r.retry.Told = o.At
	}
}
