package postmortem

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// memory is the known state of existing machines. Losing it costs a read of the stored records.
type memory struct {
	mu sync.Mutex
	// was is the stage before the deletion, done are the machines that need no further decision.
	was  map[types.UID]lifecycle.Stage
	done map[types.UID]bool
}

func newMemory() *memory {
	return &memory{was: map[types.UID]lifecycle.Stage{}, done: map[types.UID]bool{}}
}

// leaves notes the stage of a machine when its deletion began.
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

// forget drops a deleted machine.
func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.was, uid)
	delete(m.done, uid)
}
