package machine

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// A result about all machines is reused for this long: to read one machine takes up to 10 µs, and during
// the outage of a zone thousands of machines ask. The reads then take a twentieth of a processor; in a
// small fleet each machine reads for itself.
const (
	sharedEach = 200 * time.Microsecond
	sharedMost = 2 * time.Second
)

// shared has the last results, by key. The zero value has none. No key is computed twice at the same time.
type shared[V any] struct {
	mu  sync.Mutex
	all map[string]sharedValue[V]
}

type sharedValue[V any] struct {
	value V
	until time.Time
}

// get returns the last result, or computes it now from this number of machines.
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
