package machine

import (
	"time"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// tries are the failures in a row. Generation and class are those that retry is about: a new spec, a new
// class or new credentials start a new series of tries.
type tries struct {
	generation int64
	class      provider.ClientKey
	source     provider.ClientKey
	mark       enqueue.Mark
	retry      lifecycle.Retry
	// changing is the row of the last step that was to change something. A read that fails in between does
	// not end it: if a step and a read fail in turn, the step still backs off.
	changing lifecycle.Retry
}

// anew starts without failures.
func (r *tries) anew() { r.retry, r.changing = lifecycle.Retry{}, lifecycle.Retry{} }

// madeFrom notes the class of the machine; err says what of it could not be read.
func (r *tries) madeFrom(c dialect.Class, err error) {
	r.mark = enqueue.MarkOf(c, err)
	key := provider.KeyOf(c.Credentials, string(c.Spec), string(c.UserData), c.Fallbacks...)
	if r.class != key {
		r.class = key
		r.anew()
	}
}

// openedFrom notes the source of the session besides its class. A rotation there starts new tries, as
// rotated credentials do.
func (r *tries) openedFrom(s provider.Session) {
	if source := s.Traits().Source; r.source != source {
		if r.source != "" {
			r.anew()
		}
		r.source = source
	}
}

// failed notes that step failed, and returns all known failures in a row.
func (r *tries) failed(step lifecycle.Step, err error, now time.Time) lifecycle.Retry {
	n, told := 1, time.Time{}
	if r.retry.Step == step {
		n = r.retry.Failures + 1
		told = r.retry.Told
	}
	if step == lifecycle.Await && r.retry.Step != step {
		r.changing = r.retry
	}
	r.retry = lifecycle.Retry{Err: err, Step: step, At: now, Failures: n, Told: told}
	return r.retry
}

func (r *tries) succeeded() lifecycle.Retry {
	r.anew()
	return r.retry
}

// answered ends a row of failed reads.
func (r *tries) answered() {
	if r.retry.Step == lifecycle.Await {
		r.retry, r.changing = r.changing, lifecycle.Retry{}
	}
}

// removal is the progress of the machine's deletion.
type removal struct {
	// since is when the removal of the instance was first requested.
	since time.Time
	// seenToGo says that the instance was reported during the machine's deletion, and its removal
	// requested.
	seenToGo bool
	// refusedSince is since when the cluster that machines join has refused the requests of the machine's
	// deletion.
	refusedSince time.Time
}

// underway returns how long ago the removal was first requested.
func (r *removal) underway(now time.Time) time.Duration {
	if r.since.IsZero() {
		r.since = now
	}
	return now.Sub(r.since)
}

// refused notes whether the cluster that machines join accepted a request of a deletion, and returns how
// long it has refused.
func (r *removal) refused(err error, now time.Time) time.Duration {
	switch {
	case err == nil:
		r.refusedSince = time.Time{}
		return 0
	case r.refusedSince.IsZero():
		r.refusedSince = now
	}
	return now.Sub(r.refusedSince)
}

// timed has the inputs of the metrics of durations: when the instance was created, how long its last
// initialization took, when the drain for the deletion began and whether it is over, the type of the
// instance, and its place.
type timed struct {
	made               time.Time
	initializing       time.Duration
	drainSince         time.Time
	drained, drainTold bool
	instanceType, zone string
}

// reported is what events have reported.
type reported struct {
	// preserveFault says that an event has reported an invalid request to preserve the machine.
	preserveFault bool
	// account is the one that was last reported to be another than the machine's.
	account string
	// refusal is why the machine could not be saved, and when that was reported.
	refusal lifecycle.Retry
	// overdue is what was last reported to be overdue, budget which disruption budget the machine waits for.
	overdue, budget string
}

// news reports whether d is overdue and that was not reported before.
func (r *reported) news(d lifecycle.Decision) bool { return d.Overdue && r.overdue != d.Message }

// heard notes that the state of o was reported; a state that could not be saved was not.
func (r *remembered) heard(o lifecycle.Outcome) {
	if o.Overdue {
		r.reported.overdue = o.Message
	}
	r.reported.preserveFault = o.Preserve.Wish.Refused || o.Preserve.Wish.Ignored
	if o.World.Retry.News(o.At) {
		r.tries.retry.Told = o.At
	}
}
