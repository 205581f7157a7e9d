// Package serverclock returns the time of the API server that a process works for.
//
// Most times that controllers compare with the present were written by the API server (creation, deletion) or
// by another controller of Millwright, which may run on another host. One clock for all of them is more
// important than a correct one: in a process whose own clock is an hour ahead every timer would end at once,
// and one whose clock is behind would create expired tokens.
//
// Each answer of the API server has the time at which it was written (RFC 9110, section 6.6.1), in whole
// seconds. Between answers time continues by the monotonic clock of the process; its wall clock is only used
// before the first answer.
package serverclock

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Slack is how much the API server may differ from the returned time before that changes: several API servers
// of one cluster do not agree to the second.
const Slack = 2 * time.Second

// Precision is the precision of the time in an answer.
const Precision = time.Second

// loud is the correction from which on it is logged.
const loud = 10 * time.Second

// Clock returns the API server's time. Timers and tickers are those of the process's own clock. It is safe
// for concurrent use.
type Clock struct {
	clock.WithTicker
	log logr.Logger
	// began is the first pair.
	began pair

	mu   sync.Mutex
	told pair
}

// pair is one moment by two clocks.
type pair struct{ server, own time.Time }

// New returns a clock that uses own until an API server has answered.
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

// Read returns the time, and how much more time has passed by this clock than by the process's own since the
// clock began. Both are of one moment, also if an answer arrives meanwhile.
func (c *Clock) Read() (now time.Time, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now = c.now()
	return now, now.Sub(c.began.server) - c.WithTicker.Since(c.began.own)
}

// Answered records that the API server wrote an answer at date, to a request that was sent at that time by
// the process's own clock.
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
		c.log.Info("the time follows the API server: the time used before was wrong, or the API server's clock was set", "ahead", by.Round(time.Second).String())
	}
}

// Wrap makes the clock read the answers of rt.
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

// WrappedRoundTripper lets client-go find the wrapped tripper.
func (l listener) WrappedRoundTripper() http.RoundTripper { return l.RoundTripper }
