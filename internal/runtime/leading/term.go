// Package leading keeps a process that may no longer lead from changing anything.
//
// Leader election itself is that of client-go. This package decides what the rest of the process may still
// do: when the lease has expired by either clock of the process, another process may lead, also if the
// goroutine that renews the lease has not noticed it yet.
package leading

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// finishGrace is how long work in progress may take to finish after the process is asked to stop.
const finishGrace = 8 * time.Second

// Term is the time for which a process leads: it decides whether the process may still change anything.
// Changes may begin until the renew deadline after the last renewal that the API server confirmed, and
// changes in progress are cancelled before another process may take the lease. A renewal counts from when it
// was sent, which is before another process could see it. It is safe for concurrent use.
type Term struct {
	// Clock is the clock of the term.
	Clock clock.WithTicker
	// begin and end are how long after a renewal changes may begin and continue; a zero begin: without a
	// limit, there is no election.
	begin, end time.Duration

	mu       sync.Mutex
	renewed  time.Time // zero: not the leader
	underway int
	idle     chan struct{} // closed while no change is in progress
}

// NewTerm returns the term of a process that does not lead yet, whose lease has the given duration and is
// renewed before the deadline. A duration of zero means no election.
func NewTerm(duration, renewDeadline time.Duration, clk clock.WithTicker) *Term {
	t := &Term{Clock: clk, idle: make(chan struct{})}
	close(t.idle)
	lease := duration.Truncate(time.Second) // in the precision of the stored lease
	t.begin = min(renewDeadline, lease)
	t.end = lease - (lease-t.begin)/5
	return t
}

// The reasons why no change is allowed.
var (
	ErrNotLeading = errors.New("this process does not lead")
	ErrExpiring   = errors.New("the lease was not renewed in time: another process may lead soon")
	errStopping   = errors.New("the process is stopping")
)

// Err returns why no change is allowed now; nil: changes are allowed.
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

// age returns the time since the last renewal. After a suspension of the host only one of its clocks may show
// it.
func (t *Term) age() time.Duration {
	now := t.Clock.Now()
	return max(now.Sub(t.renewed), now.Round(0).Sub(t.renewed.Round(0)))
}

// left returns how long changes in progress may continue.
func (t *Term) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.begin == 0:
		return time.Hour // checked again then
	case t.renewed.IsZero():
		return 0
	}
	return t.end - t.age()
}

// Renewed records that the lease was renewed by a request sent at that time.
func (t *Term) Renewed(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = sent
}

// Ended records that the lease is released. It is called before the release is sent.
func (t *Term) Ended() { t.Renewed(time.Time{}) }

// Enter begins a change. When the caller's context is cancelled, the context of the change lives on for
// finishGrace, so that the answer is read, and ends before another process may lead. Leave has to be called
// at the end.
func (t *Term) Enter(ctx context.Context) (inner context.Context, leave func(), err error) {
	if err := errors.Join(ctx.Err(), t.Err()); err != nil {
		return nil, nil, err
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.count(1)
	go t.bound(inner, ctx.Done(), cancel)
	return inner, func() { cancel(nil); t.count(-1) }, nil
}

// bound cancels a change that takes too long.
func (t *Term) bound(inner context.Context, stopped <-chan struct{}, cancel context.CancelCauseFunc) {
	grace := time.Duration(0) // no grace period runs
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

// Idle waits until no change is in progress. Changes in progress have their own limits.
func (t *Term) Idle() {
	t.mu.Lock()
	idle := t.idle
	t.mu.Unlock()
	<-idle
}
