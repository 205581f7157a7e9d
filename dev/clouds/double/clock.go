package double

import (
	"sync"
	"time"
)

// Clock is the time of a simulator: real time plus what [Clock.Advance] added. The zero value is ready for
// use.
type Clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

// Now is the simulator's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Advance advances the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Or returns d, or other if d is not positive.
func Or(d, other time.Duration) time.Duration {
	if d <= 0 {
		return other
	}
	return d
}
