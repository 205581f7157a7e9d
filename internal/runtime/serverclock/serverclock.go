// Package serverclock tells the time by the API server that a process works for.
//
// Most times that controllers compare with the present were written by the API
// server (creation, deletion) or by another controller of ours, which may run on
// another machine. One clock for all of them is worth more than a right one: a
// process whose own clock is an hour ahead has every timer run out at once, one
// whose clock is behind makes tokens that have expired.
//
// Each answer of the API server says when it was written (RFC 9110, section
// 6.6.1), in whole seconds. Between answers time goes on by the clock of the
// process that nobody sets; its wall clock is only used before the first answer.
package serverclock

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Slack is by how much the API server may differ from what is told before that
// changes: several API servers of one cluster do not agree to the second.
const Slack = 2 * time.Second

// Precision is that of the time in an answer.
const Precision = time.Second

// loud is from which correction on people are told.
const loud = 10 * time.Second

// Clock tells the API server's time. Timers and tickers are those of the process's
// own clock. It is safe for concurrent use.
type Clock struct {
	clock.WithTicker
	log logr.Logger
	// began is what was told first.
	began pair

	mu   sync.Mutex
	told pair
}

// pair is one moment by two clocks.
type pair struct{ server, own time.Time }

// New returns a clock that goes by own until an API server has answered.
func New(own clock.WithTicker, log logr.Logger) *Clock {
	now := own.Now()
	at := pair{server: now.Round(0), own: now}
	return &Clock{WithTicker: own, log: log, began: at, told: at}
}

// Now implements [clock.PassiveClock]. The time has no monotonic reading.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time { return c.told.server.Add(c.WithTicker.Since(c.told.own)) }

// Since implements [clock.PassiveClock].
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Read returns the time, and how much more time was told since the clock began than has
// passed. Both are of one moment, whatever an answer says meanwhile.
func (c *Clock) Read() (now time.Time, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.now()
	return now, now.Sub(c.began.server) - c.WithTicker.Since(c.began.own)
}

// Answered takes down that the API server wrote an answer at date, to a question
// that was sent at that time by the process's own clock.
func (c *Clock) Answered(sent, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.WithTicker.Now()
	told, first, last := c.now(), date, date.Add(Precision+c.WithTicker.Since(sent))
	switch {
	case told.Before(first.Add(-Slack)):
		c.told = pair{server: first, own: own}
	case told.After(last.Add(Slack)):
		c.told = pair{server: last, own: own}
	default:
		return
	}
	if by := told.Sub(c.told.server); by.Abs() >= loud {
		c.log.Info("the time is the API server's: what was told before was wrong, or the API server's clock was set", "ahead", by.Round(time.Second).String())
	}
}

// Wrap has the clock listen to the answers that rt gets.
func (c *Clock) Wrap(rt http.RoundTripper) http.RoundTripper { return listener{rt, c} }

type listener struct {
	http.RoundTripper
	clock *Clock
}

// RoundTrip implements [http.RoundTripper].
func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := l.clock.WithTicker.Now()
	answer, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		l.clock.Answered(sent, date)
	}
	return answer, nil
}

// WrappedRoundTripper lets client-go find what is inside.
func (l listener) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
