package machinehealthcheck

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// state is the known state of a check between passes.
type state struct {
	uid types.UID
	// cohort holds the verdicts, nil before the first pass. It belongs to the
	// pass.
	cohort *cohort
	// version is the version of the check after the last pass, empty if that pass did not complete; due is
	// when the plan may change even without an event.
	version string
	due     time.Time
	// restricted says that an event has reported that no remedy is permitted; referred are the machines for
	// which an event has reported that they have no controller.
	restricted bool
	referred   map[types.UID]bool
	// distrust is the reported reason why the answers of the cluster are not trusted.
	distrust lifecycle.Reason
	// lonely says that an event has reported that the check selects nothing.
	lonely bool
	// doubted is the last report about annotations without effect.
	doubted string
	// remedied are the machines, by name, that the last plan remedied. Their state may have come and gone
	// before a pass reads it: then it is no change from the basis of the plan, and a pass still has to act
	// on it.
	remedied map[string]bool

	// The lock of the reconciler guards the rest: events write it.

	// dirty are the machines to judge again; all says that all of them are.
	dirty map[string]bool
	all   bool
	// selector is the check's, view the other fields that determine how machines are judged; uids are the
	// machines in the cohort by name, nodes their names by node, nodeOf their nodes by name.
	selector labels.Selector
	view     string
	uids     map[string]types.UID
	nodes    map[string]string
	nodeOf   map[string]string
	// sharedWith are the checks for which an event has reported that they select machines of this one.
	sharedWith map[string]bool
}

// remember is the cohort of c; it is a new one if c has no cohort yet or the selection changed.
func (r *Reconciler[C]) remember(key types.NamespacedName, c C) *state {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, selector := r.states[key], r.lens.Selector(c)
	if _, served := r.patients(c); !served {
		selector = labels.Nothing()
	}
	view := dialect.RackLabel(c) + " " + c.GetAnnotations()[dialect.MachineAPIAnnotation]
	if w == nil || w.uid != c.GetUID() {
		w = &state{uid: c.GetUID(), all: true, referred: map[types.UID]bool{}}
		r.states[key] = w
	}
	if w.selector == nil || w.view != view || w.selector.String() != selector.String() {
		w.selector, w.view, w.all = selector, view, true
	}
	return w
}

func (r *Reconciler[C]) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, key)
}

// take returns the machines that events have left to judge.
func (r *Reconciler[C]) take(w *state) (all bool, dirty map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, dirty = w.all, w.dirty
	w.all, w.dirty = false, map[string]bool{}
	if all {
		w.uids, w.nodes, w.nodeOf = map[string]types.UID{}, map[string]string{}, map[string]string{}
	}
	return all, dirty
}

// giveBack makes the next pass judge those that this one could not.
func (r *Reconciler[C]) giveBack(w *state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.all = true
}

// observer reads the machines of a check.
type observer[C client.Object] struct {
	*Reconciler[C]
	Client   *readyourwrites.Client
	state    *state
	patients dialect.Patients
	object   C
	check    health.Check
	now      time.Time
	seen     connectivity.State
}

func (p *pass[C]) observer() observer[C] {
	return observer[C]{
		Reconciler: p.Reconciler, Client: p.Client, state: p.state, patients: p.patients,
		object: p.object, check: p.check, now: p.now, seen: p.seen,
	}
}

// observe brings the cohort up to date, and reports whether any input of a plan changed.
func (o observer[C]) observe(ctx context.Context) (changed bool, err error) {
	if o.state.cohort == nil {
		o.state.cohort, changed = newCohort(o.check), true
	}
	o.state.cohort.seen = o.seen
	if before := o.state.cohort.check; !reflect.DeepEqual(before, o.check) {
		o.state.cohort.recheck(o.now, o.check)
		changed = true
	}
	all, dirty := o.take(o.state)
	if all {
		changed, err = true, o.load(ctx)
	} else {
		for name := range dirty {
			c, e := o.look(ctx, name)
			if changed = changed || c || o.state.remedied[name]; e != nil {
				err = e
				break
			}
		}
	}
	if err != nil {
		o.giveBack(o.state)
		return false, err
	}
	if due := o.state.due; !due.IsZero() && !o.now.Before(due) {
		changed = true
	}
	o.state.cohort.tick(o.now)
	return changed, nil
}

// load judges all machines.
func (o observer[C]) load(ctx context.Context) error {
	list := o.patients.Machines()
	if err := o.Client.List(ctx, list, client.InNamespace(o.object.GetNamespace()), client.MatchingLabelsSelector{Selector: o.state.selector}); err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	there := map[types.UID]bool{}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		m := item.(client.Object)
		there[m.GetUID()] = true
		_, err := o.admit(ctx, m)
		return err
	})
	if err != nil {
		return err
	}
	o.state.cohort.retain(func(uid types.UID) bool { return there[uid] })
	return nil
}

// look judges one machine.
func (o observer[C]) look(ctx context.Context, name string) (bool, error) {
	m := o.patients.Machine()
	err := o.Client.Get(ctx, client.ObjectKey{Namespace: o.object.GetNamespace(), Name: name}, m)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read machine %s: %w", name, err)
	}
	gone, changed := apierrors.IsNotFound(err), false
	if known, ok := o.state.uids[name]; ok && known != m.GetUID() {
		changed = o.release(name, known)
	}
	if gone {
		return changed, nil
	}
	if !o.state.selector.Matches(labels.Set(m.GetLabels())) {
		return o.release(name, m.GetUID()) || changed, nil
	}
	admitted, err := o.admit(ctx, m)
	return admitted || changed, err
}

// admit judges a machine with its node.
func (o observer[C]) admit(ctx context.Context, m client.Object) (bool, error) {
	node := o.patients.NodeName(m)
	o.mu.Lock()
	delete(o.state.nodes, o.state.nodeOf[m.GetName()])
	o.state.uids[m.GetName()] = m.GetUID()
	if node != "" {
		o.state.nodes[node], o.state.nodeOf[m.GetName()] = m.GetName(), node
	}
	o.mu.Unlock()
	n, err := readNode(ctx, o.Nodes, node)
	if err != nil {
		return false, err
	}
	return o.state.cohort.put(o.now, o.patients.Patient(m, health.NodeOf(n, dialect.RackLabel(o.object)))), nil
}

// readNode reads a node; nil if it does not exist. A failed answer is not absence.
func readNode(ctx context.Context, from client.Reader, name string) (*corev1.Node, error) {
	if name == "" {
		return nil, nil
	}
	n := &corev1.Node{}
	err := from.Get(ctx, client.ObjectKey{Name: name}, n)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	return n, nil
}

// release forgets a machine that was deleted or is no longer selected.
func (o observer[C]) release(name string, uid types.UID) bool {
	o.mu.Lock()
	delete(o.state.nodes, o.state.nodeOf[name])
	delete(o.state.nodeOf, name)
	delete(o.state.uids, name)
	o.mu.Unlock()
	delete(o.state.referred, uid)
	return o.state.cohort.remove(uid)
}
