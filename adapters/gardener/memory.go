package gardener

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// made is what this process knows of a machine's instance, and the driver does not return again.
type made struct {
	uid, namespace, owner, name string
	providerID, nodeName        string
	addresses                   []corev1.NodeAddress
	lastKnownState              string
	// uninitialized: the step after the creation has failed.
	uninitialized bool
	// at is the time of the creation. gone: the instance has not been shown for longer than the read lag.
	at   time.Time
	gone bool
	used time.Time
}

// memory has the instances that this process created, by machine. Without it, the UID of an instance is
// unknown, and nothing else changes. It is safe for concurrent use.
type memory struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]made
	// byID has the UIDs of machines by their identified provider IDs.
	byID map[string]string
}

// unused is how long an entry is kept without a call.
const unused = 24 * time.Hour

func newMemory(clk provider.Clock) *memory {
	return &memory{clock: clk, all: map[string]made{}, byID: map[string]string{}}
}

// note changes the entry of a machine.
func (m *memory) note(uid string, change func(*made)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	for old, one := range m.all {
		if now.Sub(one.used) > unused {
			m.drop(old)
		}
	}
	one := m.all[uid]
	m.drop(uid)
	change(&one)
	one.uid, one.used = uid, now
	m.all[uid] = one
	if id := identify(one.providerID); id != "" {
		m.byID[id] = uid
	}
}

// drop deletes the entry of a machine; the caller holds the lock.
func (m *memory) drop(uid string) {
	if id := identify(m.all[uid].providerID); m.byID[id] == uid {
		delete(m.byID, id)
	}
	delete(m.all, uid)
}

func (m *memory) of(uid string) (made, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, ok := m.all[uid]
	if ok {
		one.used = m.clock.Now()
		m.all[uid] = one
	}
	return one, ok
}

// machineOf is the machine of an instance that this process created; false for other instances.
func (m *memory) machineOf(providerID string) (made, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one, ok := m.all[m.byID[identify(providerID)]]
	return one, ok && providerID != ""
}

func (m *memory) forget(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(uid)
}
