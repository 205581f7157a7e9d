// Package leading keeps a process that may not lead any more from changing anything.
//
// Election itself is that of client-go. What it leaves open is what the rest of the
// process may still do: when the lease is over by either clock of the process, others
// may lead, whatever the goroutine that renews it has noticed so far.
package leading

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// finishGrace is how long what is under way may take to come to its end once
// the process is told to stop.
const finishGrace = 8 * time.Second

// Term is the time for which a process leads: by it the process knows whether it
// may still change anything. Changes may begin until the renew deadline after the
// last renewal that the API server confirmed, and those under way are called off
// before others may take the lease. A renewal counts from when it was sent, which
// is before anybody else could see it. It is safe for concurrent use.
type Term struct {
	// Clock is what the term goes by.
	Clock clock.WithTicker
	// begin and end are for how long after a renewal changes may begin and go
	// on; zero begin: for ever, there is no election.
	begin, end time.Duration

	mu       sync.Mutex
	renewed  time.Time // zero: not the leader
	underway int
	idle     chan struct{} // closed while nothing is under way
}

// NewTerm returns the term of a process that does not lead yet, whose lease is for the
// given duration and is renewed before the deadline. A duration of zero is no election.
func NewTerm(duration, renewDeadline time.Duration, clk clock.WithTicker) *Term {
	t := &Term{Clock: clk, idle: make(chan struct{})}
	close(t.idle)
	lease := duration.Truncate(time.Second) // as the lease tells others
	t.begin = min(renewDeadline, lease)
	t.end = lease - (lease-t.begin)/5
	return t
}

// Reasons for which nothing may be changed.
var (
	ErrNotLeading = errors.New("this process does not lead")
	ErrExpiring   = errors.New("the lease was not renewed in time: another process may lead soon")
	errStopping   = errors.New("the process is stopping")
)

// Err says why nothing may be changed now; nil: it may.
func (t *Term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.begin == 0:
		return nil
	case t.renewed.IsZero():
		return ErrNotLeading
	case t.age() >= t.begin:
		return fmt.Errorf("%w (last renewed %s ago)", ErrExpiring, t.age().Round(time.Millisecond))
	}
	return nil
}

// age is that of the last renewal. A machine that was suspended may show it in
// one of its clocks only.
func (t *Term) age() time.Duration {
	now := t.Clock.Now()
	return max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0)))
}

// left is for how long what is under way may go on.
func (t *Term) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.begin == 0:
		return time.Hour // ask again then
	case t.renewed.IsZero():
		return 0
	}
	return t.end - t.age()
}

// Renewed notes that the lease was renewed by a request sent at that time.
func (t *Term) Renewed(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = sent
}

// Ended notes that the lease is given up. It comes before that is sent.
func (t *Term) Ended() { t.Renewed(time.Time{}) }

// Enter begins a change. Its context outlives that of the caller by finishGrace
// when that is canceled, so that the answer is read, and ends before others may
// lead. Leave has to be called at the end.
func (t *Term) Enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	if err := errors.Join(ctx.Err(), t.Err()); err != nil {
		return nil, nil, err
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.count(1)
	go t.bound(inner, ctx.Done(), cancel)
	return inner, func() { cancel(nil); t.count(-1) }, nil
}

// bound calls off a change that takes too long.
func (t *Term) bound(inner context.Context, stopped <-chan struct{}, cancel context.CancelCauseFunc) {
	grace := time.Duration(0) // none runs
	var until time.Time
	for {
		left := t.left()
		if left <= 0 {
			cancel(ErrExpiring)
			return
		}
		if grace > 0 {
			left = min(left, until.Sub(t.Clock.Now()))
		}
		if left <= 0 {
			cancel(errStopping)
			return
		}
		timer := t.Clock.NewTimer(left)
		select {
		case <-inner.Done():
			timer.Stop()
			return
		case <-stopped:
			timer.Stop()
			stopped, grace = nil, finishGrace
			until = t.Clock.Now().Add(grace)
		case <-timer.C():
		}
	}
}

func (t *Term) count(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway == 0 {
		t.idle = make(chan struct{})
	}
	if t.underway += n; t.underway == 0 {
		close(t.idle)
	}
}

// Idle waits until nothing is under way any more. What is under way has bounds
// of its own.
func (t *Term) Idle() {
	t.mu.Lock()
	idle := t.idle
	t.mu.Unlock()
	<-idle
}
