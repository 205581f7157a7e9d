package openshift

import (
	"maps"
	"slices"
	"sync"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// known is what this process remembers about a machine.
type known struct {
	// machine is the object after the last call; other functions only read it.
	machine *machinev1.Machine
	// id identifies its provider ID; empty: it has none.
	id string
	// cluster and owner are those of the class.
	cluster, owner string
	// exists is the last result of Exists, at that time; made is when Create succeeded.
	exists   bool
	at, made time.Time
	// refresh is the result of the last Update; leaving: a Delete was accepted.
	refresh error
	leaving bool
	used    time.Time
}

// memory is what this process remembers, by the UIDs of machines. Without it, the instances of machines that
// were deleted without their finalizer are not found, and nothing else changes. It is safe for concurrent
// use.
type memory struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]known
}

// unused is how long an entry is kept without a call: machines are read every few minutes.
const unused = 24 * time.Hour

func newMemory(clk provider.Clock) *memory {
	return &memory{clock: clk, all: map[string]known{}}
}

// note changes the entry of a machine.
func (m *memory) note(uid string, change func(*known)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	maps.DeleteFunc(m.all, func(_ string, k known) bool { return now.Sub(k.used) > unused })
	k := m.all[uid]
	change(&k)
	k.used = now
	m.all[uid] = k
}

// of is the entry of a machine; without a machine if the memory has no entry.
func (m *memory) of(uid string) known {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.all[uid]
	if ok {
		k.used = m.clock.Now()
		m.all[uid] = k
	}
	return k
}

// resolve completes ref from the memory: by UID for deleted machines, and by name and provider ID for live
// ones.
func (m *memory) resolve(ref provider.Ref) provider.Ref {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ref.UID == "" {
		var latest time.Time
		for uid, k := range m.all {
			if k.is(ref) && uid != "" && k.used.After(latest) {
				ref.UID, latest = uid, k.used
			}
		}
	}
	if k := m.all[ref.UID]; k.machine != nil && ref.UID != "" {
		ref.Namespace, ref.Name = k.machine.Namespace, k.machine.Name
	}
	return ref
}

// is reports whether the entry is of the machine that ref names without a UID.
func (k known) is(ref provider.Ref) bool {
	return k.machine != nil && k.machine.Name == ref.Name && (ref.Namespace == "" || ref.Namespace == k.machine.Namespace) &&
		(ref.ProviderID == "" || identify(ref.ProviderID) == k.id)
}

// machineOf is the entry of the machine for which this process created the instance of a provider ID; without
// machineOf is the entry of the machine for which this process created the instance of a provider ID; without
// a machine if it created no such instance.
func (m *memory) machineOf(providerID string) known {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := identify(providerID)
	for _, k := range m.all {
		if id != "" && k.id == id && !k.made.IsZero() {
			return k
		}
	}
	return known{}
}

// in are the UIDs of the cluster's machines with an instance, in order.
func (m *memory) in(cluster string) (uids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, k := range m.all {
		if uid != "" && k.cluster == cluster && k.machine != nil && (k.exists || !k.made.IsZero()) {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

func (m *memory) forget(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, uid)
}
