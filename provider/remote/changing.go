package remote

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

// changing records the machines with a change in progress. A caller that cancels a call may send the next
// one before the first has ended here, and on another connection: a creation must not take effect beside
// another, nor after a deletion.
type changing struct {
	clock clock.Clock

	mu sync.Mutex
	// now has a channel for each machine, which is closed at the end of the change.
	now map[machine]chan struct{}
}

// machine identifies a machine in an ownership scope.
type machine struct{ cluster, uid string }

func newChanging(c clock.Clock) *changing {
	return &changing{clock: c, now: map[machine]chan struct{}{}}
}

// grace is the time that a canceled call has to end before the next one is refused.
const grace = 2 * time.Second

// enter begins a change, which ends with leave. It returns an error while another change of the machine is
// in progress. Changes without a machine do not wait.
func (c *changing) enter(ctx context.Context, q changeRequest) (leave func(), err error) {
	m := machine{q.GetClass().GetCluster(), q.GetRef().GetUid()}
	if m.uid == "" {
		return func() {}, nil
	}
	timer := c.clock.NewTimer(grace)
	defer timer.Stop()
	for {
		leave, other := c.try(m)
		if leave != nil {
			return leave, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C():
			return nil, provider.Errorf(provider.Conflict, "another call that changes machine %s has not ended yet", q.GetRef().GetName())
		}
	}
}

// try begins a change, or returns the channel that the end of the other one closes.
func (c *changing) try(m machine) (leave func(), other <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, busy := c.now[m]; busy {
		return nil, other
	}
	mine := make(chan struct{})
	c.now[m] = mine
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.now, m)
		close(mine)
	}, nil
}

var _ changeRequest = &wire.CreateRequest{}
