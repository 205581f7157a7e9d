package postmortem

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// memory is what is known of machines while they are there. Losing it costs a
// look at what is stored.
type memory struct {
	mu sync.Mutex
	// was is the stage before the deletion, done are machines about which there
	// is nothing more to decide.
	was  map[types.UID]lifecycle.Stage
	done map[types.UID]bool
}

func newMemory() *memory {
	return &memory{was: map[types.UID]lifecycle.Stage{}, done: map[types.UID]bool{}}
}

// leaves notes in which stage a machine was when its deletion began.
func (m *memory) leaves(uid types.UID, stage lifecycle.Stage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.was[uid] = stage
}

// before is the stage that was noted, else the present one.
func (m *memory) before(uid types.UID, present lifecycle.Stage) lifecycle.Stage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.was[uid]; ok {
		return s
	}
	return present
}

func (m *memory) judge(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done[uid] = true
}

func (m *memory) judged(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[uid]
}

// forget is for machines that are gone.
func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.was, uid)
	delete(m.done, uid)
}
