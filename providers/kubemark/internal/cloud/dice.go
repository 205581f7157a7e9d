package cloud

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
)

// dice decides which calls fail: in every run the same for the same instance, verb and number of tries.
type dice struct {
	mu    sync.Mutex
	tries map[string]int
}

func newDice() *dice { return &dice{tries: map[string]int{}} }

// fails decides about the next try of verb on the instance.
func (d *dice) fails(rate float64, verb, id string) bool {
	if rate == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name := verb + " " + id
	try := d.tries[name]
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, try))
	if float64(binary.BigEndian.Uint64(sum[:]))/math.MaxUint64 < rate {
		d.tries[name]++
		return true
	}
	delete(d.tries, name)
	return false
}
