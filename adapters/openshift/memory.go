package openshift

import (
	"maps"
	"slices"
	"sync"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/provider"
)

// known is what this process knows of a machine.
type known struct {
	// machine is the object as the last call left it; others only read it.
	machine *machinev1.Machine
	// id is what its provider ID is identified by; empty: it has none.
	id string
	// cluster and owner are those of the class.
	cluster, owner string
	// exists is what Exists said last, at that time; made is when Create succeeded.
	exists   bool
	at, made time.Time
	// refresh is what came of the last Update, and leaving says that a Delete was accepted.
	refresh error
	leaving bool
	used    time.Time
}

// memory is what this process knows, by the UIDs of machines. Losing it costs the machines that are taken
// away around their finalizers, and nothing that was decided. It is safe for concurrent use.
type memory struct {
	clock provider.Clock

	mu  sync.Mutex
	all map[string]known
}

// unused is for how long what nobody asks for is remembered: machines are looked at every few minutes.
const unused = 24 * time.Hour

func newMemory(clk provider.Clock) *memory {
	return &memory{clock: clk, all: map[string]known{}}
}

// note changes what is known of a machine.
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

// of is what is known of a machine; without a machine where that is nothing.
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

// resolve completes ref by what is known: machines that are gone are asked for by their UIDs, and those that live by name and provider ID.
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

// is reports whether what is known is of the machine that ref names without a UID.
func (k known) is(ref provider.Ref) bool {
	return k.machine != nil && k.machine.Name == ref.Name && (ref.Namespace == "" || ref.Namespace == k.machine.Namespace) &&
		(ref.ProviderID == "" || identify(ref.ProviderID) == k.id)
}

// maker is what is known of the machine for which this process made the instance; without a machine where it made none of that provider ID.
func (m *memory) maker(providerID string) known {
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

// in are the UIDs of the cluster's machines that an instance was seen of, in order.
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
