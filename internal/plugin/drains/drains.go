// Package drains drains nodes of machines for the page of `kubectl machine ui`: it cordons a node and evicts its pods as the machine
// controller does, and never by force. Pods of DaemonSets and mirror pods stay, and disruption budgets hold. A drain lasts at most
// as long as the process.
package drains

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// State is the state of a drain.
type State string

// The states.
const (
	// Waiting: no pod was evicted yet, because a machine disruption budget or another node is in the way.
	Waiting State = "Waiting"
	// Draining: pods are evicted.
	Draining State = "Draining"
	// Done: no pod is left that has to leave.
	Done State = "Done"
	// Ended: a user has ended it, or it is not needed any more. Failed: it cannot continue. The node stays cordoned.
	Ended  State = "Ended"
	Failed State = "Failed"
)

// Over reports whether the drain does nothing any more.
func (s State) Over() bool { return s == Done || s == Ended || s == Failed }

// Progress is what is known about a drain.
type Progress struct {
	Node  string `json:"node"`
	State State  `json:"state"`
	// Message says what the drain waits for, or how it ended.
	Message string    `json:"message,omitempty"`
	Begun   time.Time `json:"begun"`
	Over    time.Time `json:"over,omitzero"`
	// Pods are the pods that the drain has seen: those that still have to leave first.
	Pods []Pod `json:"pods"`
}

// Pod is a pod that had to leave.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Reason says why it is still there; empty: it has left. Budget is the pod disruption budget in the way, Detail what the API
	// server said.
	Reason string    `json:"reason,omitempty"`
	Budget string    `json:"budget,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// Order is a drain that a user has confirmed.
type Order struct {
	// Machine is the machine, Node its node.
	Machine client.Object
	Node    *corev1.Node
	// Control reads the machine and the machine disruption budgets, Target the node and its pods. Both have the rights of the user.
	Control client.Reader
	Target  client.Client
	// Log gets one line about the end.
	Log func(outcome string)
}

// Manager has the drains of a process.
type Manager struct {
	// end ends all drains.
	end     context.Context
	clock   clock.Clock
	changed func(machine client.Object)

	mu  sync.Mutex
	all map[types.UID]*task
}

// New returns a Manager whose drains end with ctx. It calls changed after each change of a drain.
func New(ctx context.Context, clk clock.Clock, changed func(machine client.Object)) *Manager {
	return &Manager{end: ctx, clock: clk, changed: changed, all: map[types.UID]*task{}}
}

// mostKept is how many drains that are over are remembered.
const mostKept = 100

// ErrUnderway refuses a second drain of the same machine.
var ErrUnderway = errors.New("action: the node is being drained already")

// Start begins a drain.
func (m *Manager) Start(o Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := o.Machine.GetUID()
	if r := m.all[uid]; r != nil && !r.progress.State.Over() {
		return ErrUnderway
	}
	m.forget()
	ctx, stop := context.WithCancel(m.end)
	r := newTask(m, o, stop)
	m.all[uid] = r
	go r.drain(ctx)
	return nil
}

// forget drops the oldest drains that are over.
func (m *Manager) forget() {
	var over []types.UID
	for uid, r := range m.all {
		if r.progress.State.Over() {
			over = append(over, uid)
		}
	}
	slices.SortFunc(over, func(a, b types.UID) int { return m.all[a].progress.Over.Compare(m.all[b].progress.Over) })
	for _, uid := range over[:max(0, len(over)-mostKept+1)] {
		delete(m.all, uid)
	}
}

// End ends the drain of a machine, and reports whether there was one. Pods that were asked to leave still leave.
func (m *Manager) End(machine types.UID) bool {
	m.mu.Lock()
	r := m.all[machine]
	m.mu.Unlock()
	if r == nil || !r.set(Progress{State: Ended, Message: "by the user"}) {
		return false
	}
	r.stop()
	<-r.done // it does not cordon the node again
	return true
}

// Of returns the drain of a machine; nil if the machine has had no drain.
func (m *Manager) Of(machine types.UID) *Progress {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[machine]
	if r == nil {
		return nil
	}
	p := r.progress
	return &p
}

// Any reports whether any drain is underway.
func (m *Manager) Any() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.all {
		if !r.progress.State.Over() {
			return true
		}
	}
	return false
}

// Underway reports whether the drain of a machine is underway.
func (m *Manager) Underway(machine types.UID) bool {
	p := m.Of(machine)
	return p != nil && !p.State.Over()
}
