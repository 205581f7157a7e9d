package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// begin creates the first objects of the world.
func (w *World) begin() {
	w.owners, w.losses = owners{chosen: map[types.UID]bool{}}, newLosses()
	w.recreated.successors = map[string]string{}
	w.beginVolumes()
	w.each(func() { w.createMissing(w.adapter.fixtures()) })
	w.setUpFalseAnswers()
	w.each(func() {
		for range w.profile.sets {
			w.createSet()
		}
		for range w.profile.singles {
			w.createMachine(nil)
		}
		for range w.profile.deployments {
			w.createDeployment()
		}
	})
	w.setUpHealthChecks()
	for i := range w.profile.apps {
		if w.profile.budgets {
			w.budget(fmt.Sprint("app", i), w.chance(20) || w.profile.tight)
		}
	}
}

// createMissing creates the objects that do not exist.
func (w *World) createMissing(all []client.Object) {
	for _, o := range all {
		if w.store.Lookup(o, client.ObjectKeyFromObject(o)) == nil {
			_, err := w.store.Create(o)
			w.must("furnish", err)
		}
	}
}

// stepUser is one action of a user.
func (w *World) stepUser() {
	if w.profile.losesAllObjects {
		return
	}
	if w.ended() {
		w.namespaceDeletionActions()
		return
	}
	if w.profile.deployments > 0 && w.chance(60) {
		w.stepOwner()
		return
	}
	actions := []func(){
		w.createSet, func() { w.createMachine(nil) }, w.scale, w.scale, w.scale,
		w.deleteMachine, w.deleteMachine, w.deleteMachine, w.deleteSet, w.relabel, w.offerMachine,
		w.addHook, w.removeHooks, w.hurry, w.cordon, w.deleteNode, w.loseSecret, w.loseSecret,
	}
	action, _ := pick(w, slices.Concat(actions, w.healthDeeds(), w.disruptionActions()))
	action()
}

func (w *World) does(format string, args ...any) {
	w.tracef("user", format, args...)
}

func (w *World) createSet() {
	if len(w.store.All(w.adapter.set)) >= 3 {
		return
	}
	w.adapter.made++
	s := w.adapter.newSet(fmt.Sprintf("set%d", w.adapter.made), w.size(0, 4))
	_, err := w.store.Create(s)
	w.must("create a set", err)
	w.does("creates set %s of %d", s.GetName(), w.adapter.size(s))
}

// createMachine creates a machine without a set, sometimes under a name that was used before.
func (w *World) createMachine(labels map[string]string) {
	w.createNamed(w.single(), labels)
}

// single is a name for a machine without a set. Machines of two APIs share it only if their nodes have other names: a
// cluster cannot have two hosts with one name that do not know of each other.
func (w *World) single() string {
	name := "single"
	if w.adapter.number > 0 && !w.profile.cloud.Hosts {
		name = "lone"
	}
	return fmt.Sprintf("%s%d", name, w.between(1, 4))
}

// mostMachines bounds the machines that users create.
const mostMachines = 12

func (w *World) createNamed(name string, labels map[string]string) {
	if len(w.store.All(w.adapter.machine)) >= mostMachines || labels != nil && w.profile.affects(name) {
		return // no set could adopt it
	}
	m := w.adapter.newMachine(name)
	if w.store.Lookup(m, client.ObjectKeyFromObject(m)) != nil {
		return
	}
	all := m.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	for k, v := range labels {
		all[k] = v
	}
	m.SetLabels(all)
	_, err := w.store.Create(m)
	w.must("create a machine", err)
	w.does("creates machine %s %v", name, labels)
}

func (w *World) anySet() client.Object {
	s, _ := pick(w, w.store.All(w.adapter.set))
	return s
}

// anyMachine picks a machine that is being deleted, or a machine that is not.
func (w *World) anyMachine(leaving bool) client.Object {
	var fit []client.Object
	for _, m := range w.store.All(w.adapter.machine) {
		if (m.GetDeletionTimestamp() != nil) == leaving {
			fit = append(fit, m)
		}
	}
	m, _ := pick(w, fit)
	return m
}

func (w *World) scale() {
	if s := w.anySet(); s != nil && s.GetDeletionTimestamp() == nil {
		n := w.size(0, 5)
		w.edit(s, "", func(o client.Object) { w.adapter.resize(o, n) })
		w.does("scales set %s from %d to %d", s.GetName(), w.adapter.size(s), n)
	}
}

func (w *World) deleteMachine() {
	if m := w.anyMachine(false); m != nil {
		w.deleteObject(m)
		w.does("deletes machine %s", m.GetName())
	}
}

// deleteObject deletes a machine or a set.
func (w *World) deleteObject(o client.Object) {
	w.must("delete "+o.GetName(), w.store.Delete(o, client.DeleteOptions{}))
}

func (w *World) deleteSet() {
	s := w.anySet()
	if s == nil || s.GetDeletionTimestamp() != nil {
		return
	}
	var opts client.DeleteOptions
	if w.chance(30) {
		opts.PropagationPolicy = ptr.To(metav1.DeletePropagationOrphan)
	}
	w.orphaned(opts)
	w.must("delete a set", w.store.Delete(s, opts))
	w.does("deletes set %s (%s)", s.GetName(), ptr.Deref(opts.PropagationPolicy, "background"))
}

// relabel removes a machine from its set.
func (w *World) relabel() {
	m := w.anyMachine(false)
	if m == nil || m.GetLabels()[memberLabel] == "" || !w.chance(50) {
		return
	}
	w.edit(m, "", func(o client.Object) {
		labels := o.GetLabels()
		delete(labels, memberLabel)
		delete(labels, groupLabel)
		o.SetLabels(labels)
	})
	w.does("takes machine %s out of its set", m.GetName())
}

// offerMachine creates a machine that a set will adopt.
func (w *World) offerMachine() {
	if s := w.anySet(); s != nil && w.chance(50) {
		w.offer(s, w.single())
	}
}

// offer creates a machine with the labels that s selects.
func (w *World) offer(s client.Object, name string) {
	wanted := map[string]string{}
	all, _ := w.adapter.selector(s).Requirements()
	for _, r := range all {
		if values := r.Values().List(); len(values) == 1 {
			wanted[r.Key()] = values[0]
		}
	}
	w.createNamed(name, wanted)
}

func (w *World) addHook() {
	m := w.anyMachine(false)
	if m == nil || w.adapter.hook == nil {
		return
	}
	drain := w.chance(50)
	w.edit(m, "", func(o client.Object) { w.adapter.hook(o, drain) })
	w.does("puts a hook on machine %s", m.GetName())
}

func (w *World) removeHooks() {
	m := w.anyMachine(true)
	if m == nil || w.adapter.unhook == nil {
		return
	}
	w.edit(m, "", w.adapter.unhook)
	w.does("takes the hooks off machine %s", m.GetName())
}

func (w *World) hurry() {
	m := w.anyMachine(w.chance(50))
	if m == nil || !w.chance(30) {
		return
	}
	w.edit(m, "", w.adapter.hurry)
	w.does("requests the forced deletion of machine %s", m.GetName())
}

// cordon toggles the cordon of a node whose machine stays.
func (w *World) cordon() {
	n, ok := pick(w, objects(w, &corev1.Node{}))
	if !ok {
		return
	}
	m := w.machineOn(n)
	if m == nil || m.GetDeletionTimestamp() != nil {
		return
	}
	w.edit(n, "", func(o client.Object) { o.(*corev1.Node).Spec.Unschedulable = !n.Spec.Unschedulable })
	w.does("cordons node %s: %v", n.Name, !n.Spec.Unschedulable)
}

func (w *World) deleteNode() {
	n, ok := pick(w, objects(w, &corev1.Node{}))
	if !ok || !w.chance(30) {
		return
	}
	w.must("delete a node", w.target.Delete(n, client.DeleteOptions{}))
	w.does("deletes node %s", n.Name)
}

// loseSecret deletes the credentials, or recreates them.
func (w *World) loseSecret() {
	there := w.store.Lookup(&corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: secretName})
	switch {
	case there == nil:
		w.restoreSecret()
	case w.chance(30):
		w.must("delete the credentials", w.store.Delete(there, client.DeleteOptions{}))
		w.does("deletes the credentials")
	}
}

func (w *World) restoreSecret() {
	if w.store.Lookup(&corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: secretName}) == nil {
		_, err := w.store.Create(credentials())
		w.must("restore the credentials", err)
		w.does("puts the credentials back")
	}
}

// mendMachines removes hooks and pauses.
func (w *World) mendMachines() {
	for _, m := range w.store.All(w.adapter.machine) {
		if w.adapter.unhook != nil {
			w.edit(m, "", w.adapter.unhook)
		}
	}
	for _, d := range w.deployments() {
		if d.GetDeletionTimestamp() == nil {
			w.edit(d, "", func(o client.Object) {
				w.adapter.fleet.pause(o, false)
				relax(o)
				if w.chance(50) {
					// Let the last rollout happen without faults.
					w.adapter.fleet.roll(o, w.between(0, templates-1))
				}
			})
		}
	}
}

// repair removes the obstacles that only users can remove.
func (w *World) repair() {
	w.restoreSecret()
	w.repairChecks()
	w.relaxDisruptionBudgets()
	w.endBadImages()
	w.endMisdirection()
	w.removeForeignFinalizers(false)
	w.restoreClasses()
	w.deleteUnapprovedRequests()
	w.deleteHostileMachines()
	if w.profile.collects {
		w.each(w.approve)
	}
	w.each(w.mendMachines)
	for _, b := range objects(w, &policyv1.PodDisruptionBudget{}) {
		w.must("delete a budget", w.target.Delete(b, client.DeleteOptions{}))
	}
	for _, n := range objects(w, &corev1.Node{}) {
		m := w.machineOn(n)
		if m != nil && m.GetDeletionTimestamp() == nil {
			w.edit(n, "", func(o client.Object) { o.(*corev1.Node).Spec.Unschedulable = false })
		}
	}
}
