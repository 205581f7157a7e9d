package machine

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// What was found out about all machines answers for others for so long: to look at one takes up to 10 µs, and while a zone is out thousands of
// machines ask. Looking takes a twentieth of a processor then; in a small fleet each machine looks for itself.
const (
	sharedEach = 200 * time.Microsecond
	sharedMost = 2 * time.Second
)

// shared is what was found out lately, by key. The zero value has nothing. Two never look for the same at the same time.
type shared[V any] struct {
	mu  sync.Mutex
	all map[string]sharedValue[V]
}

type sharedValue[V any] struct {
	value V
	until time.Time
}

// get returns what was found lately, or finds it now, by looking at so many machines.
func (s *shared[V]) get(c clock.PassiveClock, key string, find func() (v V, machines int, err error)) (V, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.all[key]; ok && c.Now().Before(f.until) && f.until.Sub(c.Now()) <= sharedMost {
		return f.value, nil
	}
	now := c.Now()
	v, machines, err := find()
	if err != nil {
		return v, err
	}
	for k, f := range s.all {
		if !now.Before(f.until) {
			delete(s.all, k)
		}
	}
	if s.all == nil {
		s.all = map[string]sharedValue[V]{}
	}
	s.all[key] = sharedValue[V]{v, now.Add(min(sharedMost, time.Duration(machines)*sharedEach))}
	return v, nil
}
