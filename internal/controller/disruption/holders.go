package disruption

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// holders are the machines that have a permit, as far as is known. Each pass over a machine reads them, so they do not share the lock of
// questions, which wait for the API server.
type holders struct {
	mu  sync.Mutex
	all map[types.UID]bool
}

func (h *holders) has(machine types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[machine]
}

func (h *holders) set(machine types.UID, holds bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(h.all, machine); holds {
		h.all[machine] = true
	}
}

func (h *holders) replace(all map[types.UID]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = all
}
