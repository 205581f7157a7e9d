package machine

import (
	"time"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// tries are the failures in a row. Generation and class are those that retry is about: a new
// spec, a new class or new credentials get a new try.
type tries struct {
	generation int64
	class      provider.ClientKey
	source     provider.ClientKey
	mark       enqueue.Mark
	retry      lifecycle.Retry
	// changing is the row of the last step that was to change something. A question that fails meanwhile
	// does not end it: of a step and a question that fail by turns, the step backs off all the same.
	changing lifecycle.Retry
}

// anew begins without failures.
func (r *tries) anew() { r.retry, r.changing = lifecycle.Retry{}, lifecycle.Retry{} }

// madeFrom notes what the machine is made from, of which err says what could not be read.
func (r *tries) madeFrom(c dialect.Class, err error) {
	r.mark = enqueue.MarkOf(c, err)
	key := provider.KeyOf(c.Credentials, string(c.Spec), string(c.UserData), c.Fallbacks...)
	if r.class != key {
		r.class = key
		r.anew()
	}
}

// openedFrom notes what else a session was opened from than its class. What is
// rotated there gets a new try, as rotated credentials do.
func (r *tries) openedFrom(s provider.Session) {
	if source := s.Traits().Source; r.source != source {
		if r.source != "" {
			r.anew()
		}
		r.source = source
	}
}

// failed notes that step failed, and returns all that is known of the failures
// in a row.
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

// answered ends a row of failures to ask.
func (r *tries) answered() {
	if r.retry.Step == lifecycle.Await {
		r.retry, r.changing = r.changing, lifecycle.Retry{}
	}
}

// request is the last time that an instance was asked for.
type request struct {
	// since is when, or when the machine was first looked at.
	since time.Time
	// order is the choice; zero: there are no several.
	order choice.Order
	// err is [lifecycle.Unlisted].Err. A new spec or an answer to something else
	// ends the retry, and not this.
	err error
	// number is that of the ask. lost says that an answer to it was lost, or may have been: another process stored it, and may
	// have sent it.
	number int
	lost   bool
	// open says that it was sent, and that an instance may come of that. chosen is when this process chose it.
	open   bool
	chosen time.Time
	// asks are as this process knew them last: the API server may go back to before they were stored, and the infrastructure
	// does not.
	asks lifecycle.Asks
}

// known is what is known of the asks of which an object says stored.
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

// asked notes that ask was sent at began, and what came of it. Absence has to be
// proved anew after it.
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

// quiet returns for how long nothing was asked for.
func (r *request) quiet(now time.Time) time.Duration {
	if r.since.IsZero() {
		r.since = now
	}
	return now.Sub(r.since)
}

// removal is how the machine's deletion goes.
type removal struct {
	// since is since when the removal of the instance is asked for.
	since time.Time
	// seenToGo says that the instance was reported during the machine's deletion,
	// and asked to go.
	seenToGo bool
	// refusedSince is since when the cluster that machines join refuses what the
	// machine's deletion asks of it.
	refusedSince time.Time
}

// underway returns for how long removal has been asked for.
func (r *removal) underway(now time.Time) time.Duration {
	if r.since.IsZero() {
		r.since = now
	}
	return now.Sub(r.since)
}

// refused notes whether the cluster that machines join did what a deletion asked
// of it, and returns for how long it has not.
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

// timed is what the metrics of durations say: when the instance was made, how long its last initialization took, when the
// drain for the deletion began, whether that is over, what the instance is, and where.
type timed struct {
	made               time.Time
	initializing       time.Duration
	drainSince         time.Time
	drained, drainTold bool
	instanceType, zone string
}

// told is what people have heard.
type told struct {
	// preserveFault says that a wish to keep the machine which means nothing was
	// told.
	preserveFault bool
	// account is the one that was last told not to be the machine's.
	account string
	// refusal is why the machine could not be saved, and when that was told.
	refusal lifecycle.Retry
	// overdue is what was last told to be overdue.
	overdue string
}

// news reports whether d is overdue and that was not told before.
func (r *told) news(d lifecycle.Decision) bool { return d.Overdue && r.overdue != d.Message }

// heard notes that people heard of o: of what could not be saved they did not.
func (r *remembered) heard(o lifecycle.Outcome) {
	if o.Overdue {
		r.told.overdue = o.Message
	}
	r.told.preserveFault = o.Preserve.Wish.Refused || o.Preserve.Wish.Ignored
	if o.World.Retry.News(o.At) {
		r.tries.retry.Told = o.At
	}
}
