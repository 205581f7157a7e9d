package machine

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// shortages are the known shortages of the accounts of all machines. Losing them costs one request for
// each.
type shortages struct {
	mu       sync.Mutex
	accounts map[string]choice.Shortages
	// waiting are the machines that wait for capacity.
	waiting map[types.NamespacedName]bool
}

func newShortages() *shortages {
	return &shortages{accounts: map[string]choice.Shortages{}, waiting: map[types.NamespacedName]bool{}}
}

// waits notes whether a machine waits for capacity.
func (s *shortages) waits(machine types.NamespacedName, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits {
		s.waiting[machine] = true
	} else {
		delete(s.waiting, machine)
	}
}

// any reports whether some machine waits for capacity.
func (s *shortages) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// pick chooses for one machine; other machines see at once that it tries.
func (s *shortages) pick(account string, now time.Time, choices []provider.Choice) choice.Picked {
	s.mu.Lock()
	defer s.mu.Unlock()
	picked, known := choice.Pick(now, s.accounts[account], choices)
	s.accounts[account] = known
	return picked
}

func (s *shortages) lackedSince(account string, c provider.Choice, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[account].LackedSince(c, since)
}

func (s *shortages) answered(account string, a choice.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[account] = s.accounts[account].After(a)
	maps.DeleteFunc(s.accounts, func(_ string, known choice.Shortages) bool { return known.Empty(a.At) })
}

func (s *shortages) partly(account string, tried []provider.Choice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return choice.Partly(s.accounts[account], tried, lifecycle.FirstDelay)
}
