package gardener

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// made is what this process knows of a machine's instance that the driver does not tell again.
type made struct {
	uid, namespace, owner, name string
	providerID, nodeName        string
	addresses                   []corev1.NodeAddress
	lastKnownState              string
	// uninitialized says that the step after creation has failed.
	uninitialized bool
	// at is when it was made, gone that it is not shown any more, longer than listings run behind.
	at   time.Time
	gone bool
	used time.Time
}

// memory is what this process made, by machine. Losing it costs the UID on an instance, and
// nothing that was decided. It is safe for concurrent use.
type memory struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]made
	// byID has the UIDs of machines by what their provider IDs are identified by.
	byID map[string]string
}

// unused is for how long what nobody asks for is remembered.
const unused = 24 * time.Hour

func newMemory(clk provider.Clock) *memory {
	return &memory{clock: clk, all: map[string]made{}, byID: map[string]string{}}
}

// note changes what is known of a machine.
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

// drop forgets a machine; the lock is held.
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

// whose is the machine that the instance was made for; false where this process did not make it.
func (m *memory) whose(providerID string) (made, bool) {
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
