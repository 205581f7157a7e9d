package machine

import (
	"time"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/choice"
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

// request is the last request for an instance.
type request struct {
	// since is its time, or when the machine was first reconciled.
	since time.Time
	// order is the choice; zero: the class has no several choices.
	order choice.Order
	// err is [lifecycle.Unlisted].Err. A new spec or an answer to another request ends the retry, but not
	// this.
	err error
	// number is that of the ask. lost says that its answer was lost, or may have been: another process
	// stored it, and may have sent it.
	number int
	lost   bool
	// open says that it was sent, and that it may lead to an instance. chosen is when this process chose
	// it.
	open   bool
	chosen time.Time
	// asks are those that this process knew last: the API server may be restored to a state before they
	// were stored, and the infrastructure is not.
	asks lifecycle.Asks
}

// known returns the known asks of an object that has stored these.
func (r *request) known(stored lifecycle.Asks) lifecycle.Asks {
	if r.asks.Continues(stored) {
		return r.asks
	}
	return stored
}

// chose notes that this process is the first to send the last of asks.
func (r *request) chose(asks lifecycle.Asks, now time.Time) {
	r.number, r.lost, r.open, r.chosen, r.asks = asks[len(asks)-1].Number, false, false, now, asks
}

// asked notes that ask was sent at began, and its outcome. Absence has to be proved again after it.
func (r *request) asked(ask lifecycle.Ask, began time.Time, err error, now time.Time) {
	*r = request{
		since: now, order: choice.Order{Choice: ask.Choice, At: began}, asks: r.asks,
		number: ask.Number, lost: r.lost || r.number != ask.Number, chosen: r.chosen,
	}
	switch provider.KindOf(err) {
	case provider.Transient:
		r.err, r.lost = err, true
	case provider.Invalid, provider.Denied, provider.Throttled, provider.Exhausted:
		r.open = r.lost
		return
	}
	r.open = true
}

// quiet returns how long ago the last request was sent.
func (r *request) quiet(now time.Time) time.Duration {
	if r.since.IsZero() {
		r.since = now
	}
	return now.Sub(r.since)
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

// told is what events have reported.
type told struct {
	// preserveFault says that an event has reported an invalid request to preserve the machine.
	preserveFault bool
	// account is the one that was last reported to be another than the machine's.
	account string
	// refusal is why the machine could not be saved, and when that was reported.
	refusal lifecycle.Retry
	// overdue is what was last reported to be overdue.
	overdue string
}

// news reports whether d is overdue and that was not reported before.
func (r *told) news(d lifecycle.Decision) bool { return d.Overdue && r.overdue != d.Message }

// heard notes that the state of o was reported; a state that could not be saved was not.
func (r *remembered) heard(o lifecycle.Outcome) {
	if o.Overdue {
		r.told.overdue = o.Message
	}
	r.told.preserveFault = o.Preserve.Wish.Refused || o.Preserve.Wish.Ignored
	if o.World.Retry.News(o.At) {
		r.tries.retry.Told = o.At
	}
}
