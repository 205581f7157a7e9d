package parallel

import (
	"sync"
	"testing"
	"time"
)

// All calls are made, up to the limit of them at a time, before the runner returns.
func TestRunner(t *testing.T) {
	const calls, limit = 20, 3
	var mu sync.Mutex
	var running, most int
	made, full := map[int]int{}, make(chan struct{})
	Runner(limit)(calls, func(i int) {
		mu.Lock()
		made[i]++
		running++
		if most = max(most, running); running == limit && len(made) == limit {
			close(full)
		}
		mu.Unlock()
		select {
		case <-full: // the first wait until as many run as may
		case <-time.After(10 * time.Second):
		}
		mu.Lock()
		running--
		mu.Unlock()
	})
	if most != limit || running != 0 {
		t.Errorf("up to %d ran at a time, %d still run", most, running)
	}
	for i := range calls {
		if made[i] != 1 {
			t.Errorf("call %d was made %d times", i, made[i])
		}
	}
}
