package machine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// memory has what the process knows about machines and their objects do not record. After a restart the
// process asks again, and decides nothing without an answer.
type memory struct {
	mu  *sync.Mutex
	all map[types.NamespacedName]*remembered
	// hosts are the UIDs of the machines whose instances were seen with a host name.
	hosts map[string][]types.UID
	// shortages are shared by all machines.
	shortages *shortages
	// versions are those of the remembered machines.
	versions *readyourwrites.Versions
}

func newMemory() memory {
	return memory{
		mu: &sync.Mutex{}, all: map[types.NamespacedName]*remembered{}, hosts: map[string][]types.UID{}, shortages: newShortages(),
		versions: &readyourwrites.Versions{},
	}
}

// remembered is the memory of one machine. Only the worker that reconciles the machine uses it.
type remembered struct {
	uid types.UID
	// released is when the finalizer was removed from an object under deletion. The cache may still show
	// the object with it.
	released    time.Time
	tries       tries
	lastRequest lastRequest
	removal     removal
	timed       timed
	reported    reported
	// reboot is the outcome of the last one.
	reboot lifecycle.Rebooting
	token  tokenState
	upkeep lifecycle.Upkeep
	// permitted is when the disruption budgets last permitted the disruption of the machine; zero: they did not.
	permitted time.Time
	// The memory's lock guards the rest: other workers read it.

	instance instance
	// drains says that the machine waits for pods.
	drains bool
	placed placed
}

func (m memory) of(o client.Object) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	r := m.all[key]
	if r == nil || r.uid != o.GetUID() {
		m.drop(key)
		r = &remembered{uid: o.GetUID()}
		m.all[key] = r
	}
	if r.tries.generation != o.GetGeneration() {
		r.tries.generation = o.GetGeneration()
		r.tries.anew()
	}
	r.placed.owner = ownerOf(o)
	return r
}

func (m memory) note(key types.NamespacedName, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.all[key]; r != nil {
		change(r)
	}
}

// knows reports whether the memory of a machine satisfies the condition.
func (m memory) knows(key types.NamespacedName, is func(*remembered) bool) (so bool) {
	m.note(key, func(r *remembered) { so = is(r) })
	return so
}

// drains notes whether the machine waits for the pods of its node.
func (m memory) drains(key types.NamespacedName, waits bool) {
	m.note(key, func(r *remembered) { r.drains = waits })
}

func (m memory) podsAwaited(key types.NamespacedName) bool {
	return m.knows(key, func(r *remembered) bool { return r.drains })
}

func (m memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

// restored forgets what the API server has undone. The infrastructure has not undone the requests that it
// got.
func (m memory) restored(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.all[key]; r != nil {
		m.drop(key)
		m.all[key] = &remembered{uid: r.uid, lastRequest: r.lastRequest, placed: r.placed}
	}
}

// drop forgets a machine; the lock is held.
func (m memory) drop(key types.NamespacedName) {
	if r := m.all[key]; r != nil {
		m.versions.Forget(r.uid)
		m.shortages.waits(key, false)
		m.setInstance(r, instance{})
		delete(m.all, key)
	}
}
