package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// owners is the intent of users and of the autoscaler for deployments.
type owners struct {
	// chosen are the machines that an autoscaler wants to be deleted.
	chosen map[types.UID]bool
	// made counts the machines that users created in bulk.
	made int
}

// stepOwner is one action of a user on a deployment.
func (w *World) stepOwner() {
	actions := []func(){
		w.createDeployment, w.rollOut, w.rollOut, w.rollOut, w.resize, w.resize, w.touch, w.pause, w.pause, w.goBack, w.restyle,
		w.scaleIn, w.scaleIn, w.deleteDeployment, w.flood, w.thaw, w.choose,
	}
	action, _ := pick(w, actions)
	action()
}

func (w *World) createDeployment() {
	if w.adapter.fleet == nil || len(w.deployments()) >= max(1, w.profile.deployments) {
		return
	}
	// A name that was used before may meet objects that were left behind.
	name := fmt.Sprintf("fleet%d", w.between(1, 2))
	d := w.adapter.fleet.make(name, w.newDeploymentSize())
	if w.store.Lookup(d, client.ObjectKeyFromObject(d)) != nil {
		return
	}
	o, err := w.store.Create(d)
	w.must("create a deployment", err)
	v := w.adapter.fleet.view(o)
	w.does("creates deployment %s of %d: %s, surge %s, unavailable %s", name, v.Replicas, v.Strategy, v.Surge, v.Unavailable)
}

// strategy picks one of the given strategies, unless the world has one for all.
func (w *World) strategy(all ...rollout.Strategy) rollout.Strategy {
	one := all[w.roll(len(all))]
	if w.profile.strategy != "" {
		return w.profile.strategy
	}
	return one
}

// bound is a surge, or a maximum of unavailable machines.
func (w *World) bound() *intstr.IntOrString {
	all := []string{"0", "0", "1", "1", "2", "25%", "50%", "100%"}
	return ptr.To(intstr.Parse(all[w.roll(len(all))]))
}

// precautions are annotations of some deployments that make a rollout wait for a user.
func (w *World) precautions() map[string]string {
	if !w.profile.guarded {
		return nil
	}
	out := map[string]string{}
	if w.chance(50) {
		out[dialect.MaxFailuresAnnotation] = fmt.Sprint(w.between(1, 2))
		if w.chance(50) {
			out[dialect.OnFailureAnnotation] = "rollback"
		}
	}
	if w.chance(50) {
		out[dialect.CanaryAnnotation] = "1"
		if w.chance(70) {
			out[dialect.SoakAnnotation] = "1m"
		}
	}
	return out
}

// relax removes the precautions, so that no rollout waits for a user.
func relax(d client.Object) {
	annotations := d.GetAnnotations()
	delete(annotations, dialect.MaxFailuresAnnotation)
	delete(annotations, dialect.CanaryAnnotation)
	d.SetAnnotations(annotations)
}

// annotate gives an object an annotation that has no meaning.
func (w *World) annotate(o client.Object) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["touched"] = fmt.Sprint(w.roll(3))
	o.SetAnnotations(annotations)
}

// anyDeployment picks a deployment that is not being deleted; nil if none exists.
func (w *World) anyDeployment() client.Object {
	d, _ := pick(w, w.deployments())
	if d == nil || d.GetDeletionTimestamp() != nil {
		return nil
	}
	return d
}

func (w *World) rollOut() {
	if d := w.anyDeployment(); d != nil {
		n := w.between(0, templates-1)
		w.edit(d, "", func(o client.Object) { w.adapter.fleet.roll(o, n) })
		w.does("gives deployment %s template %d", d.GetName(), n)
	}
}

func (w *World) resize() {
	if d := w.anyDeployment(); d != nil {
		n := w.between(0, 5)
		w.edit(d, "", func(o client.Object) { w.adapter.fleet.resize(o, n) })
		w.does("scales deployment %s from %d to %d", d.GetName(), w.adapter.fleet.view(d).Replicas, n)
	}
}

func (w *World) touch() {
	if d := w.anyDeployment(); d != nil {
		w.edit(d, "", w.adapter.fleet.touch)
		w.does("edits deployment %s without a rollout", d.GetName())
	}
}

func (w *World) pause() {
	if d := w.anyDeployment(); d != nil {
		paused := !w.adapter.fleet.view(d).Paused
		w.edit(d, "", func(o client.Object) { w.adapter.fleet.pause(o, paused) })
		w.does("pauses deployment %s: %v", d.GetName(), paused)
	}
}

func (w *World) goBack() {
	if d := w.anyDeployment(); d != nil {
		to := int64(w.between(0, 3))
		w.edit(d, "", func(o client.Object) { w.adapter.fleet.goBack(o, to) })
		w.does("asks deployment %s to go back to revision %d", d.GetName(), to)
	}
}

func (w *World) restyle() {
	if d := w.anyDeployment(); d != nil && w.chance(50) {
		w.edit(d, "", w.adapter.fleet.restyle)
		v := w.adapter.fleet.view(w.store.Lookup(d, client.ObjectKeyFromObject(d)))
		w.does("changes the strategy of deployment %s: %s, surge %s, unavailable %s", d.GetName(), v.Strategy, v.Surge, v.Unavailable)
	}
}

// scaleIn is the action of an autoscaler that found a node idle.
func (w *World) scaleIn() {
	d := w.anyDeployment()
	if d == nil {
		return
	}
	idle := slices.DeleteFunc(w.living(d), func(m client.Object) bool { return !w.fact(m).Seen || !w.allSee(m) })
	if m, ok := pick(w, idle); ok && w.adapter.fleet.view(d).Replicas > 0 {
		w.adapter.fleet.scaleIn(d, []client.Object{m})
		w.does("(autoscaler) has machine %s of deployment %s removed", m.GetName(), d.GetName())
	}
}

// allSee reports whether every controller of deployments has seen the present version of the machine. A controller may ignore
// an earlier choice: nodes are idle for minutes before an autoscaler chooses them.
func (w *World) allSee(m client.Object) bool {
	return !slices.ContainsFunc(w.procs, func(p *process) bool {
		return p.role == fleetRole && p.adapter == w.of(m) && p.view(m).Lookup(client.ObjectKeyFromObject(m)) != m
	})
}

func (w *World) deleteDeployment() {
	d := w.anyDeployment()
	if d == nil || !w.chance(30) {
		return
	}
	var opts client.DeleteOptions
	if w.chance(50) {
		opts.PropagationPolicy = ptr.To(metav1.DeletePropagationOrphan)
	}
	w.orphaned(opts)
	w.must("delete a deployment", w.store.Delete(d, opts))
	w.does("deletes deployment %s (%s)", d.GetName(), ptr.Deref(opts.PropagationPolicy, "background"))
}

// orphaned drops the autoscaler's choices, because no set handles these machines any more.
func (w *World) orphaned(opts client.DeleteOptions) {
	if opts.PropagationPolicy != nil {
		clear(w.owners.chosen)
	}
}

// flood creates many machines at once that a set will adopt.
func (w *World) flood() {
	s := w.anySet()
	if s == nil || !w.chance(40) {
		return
	}
	for range w.between(1, 4) {
		w.owners.made++
		w.offer(s, fmt.Sprintf("extra%d", w.owners.made))
	}
}

// thaw requests to unfreeze a set, or a deployment with its sets.
func (w *World) thaw() {
	if w.adapter.fleet == nil || w.adapter.fleet.thaw == nil || !w.chance(50) {
		return
	}
	if o, ok := pick(w, append(w.deployments(), w.store.All(w.adapter.set)...)); ok {
		w.edit(o, "", w.adapter.fleet.thaw)
		w.does("asks to unfreeze %s", o.GetName())
	}
}

// choose selects a node for an update before the controller does.
func (w *World) choose() {
	if w.adapter.fleet == nil || w.adapter.fleet.choose == nil {
		return
	}
	n, ok := pick(w, w.candidates())
	if ok {
		w.edit(n, "", func(o client.Object) { w.adapter.fleet.choose(o.(*corev1.Node)) })
		w.does("selects node %s to be updated", n.Name)
	}
}

// candidates are the nodes that may be selected for an update in place.
func (w *World) candidates() (out []*corev1.Node) {
	for _, n := range objects(w, &corev1.Node{}) {
		m := w.machineOn(n)
		if m == nil || w.of(m) != w.adapter {
			continue
		}
		if f := w.adapter.fleet.machine(m, n); f.Update.Request.Candidate() && !f.Update.Request.Selected() && f.Counts() {
			out = append(out, n)
		}
	}
	return out
}

// agentActions are the possible actions of the agents that update nodes.
func (w *World) agentActions() (out []func()) {
	return all(w, w.agentsOf)
}

// agentsOf are the actions of the agents of the API.
func (w *World) agentsOf() (out []func()) {
	if w.adapter.fleet == nil || w.adapter.fleet.awaits == nil {
		return nil
	}
	of := w.adapter
	for _, i := range w.cloud.Existing("") {
		k := w.kubelet(i)
		n := w.nodeOf(k)
		if n == nil || !w.alive(k) || !of.fleet.awaits(n) {
			continue
		}
		out = append(out, func() { w.update(k, n, of) })
	}
	return out
}

// update is the progress of an agent. It may restart the node first, and it may fail.
func (w *World) update(k *kubelet, n *corev1.Node, of *adapter) {
	if w.faulty(nodeRestarts) {
		k.stalled = w.now.Add(unknownAfter * 2)
		w.tracef("node agent", "%s restarts", n.Name)
		return
	}
	ok := !w.faulty(updateFails)
	w.edit(n, "", func(o client.Object) { of.fleet.answer(o.(*corev1.Node), ok) })
	w.tracef("node agent", "%s was updated: %v", n.Name, ok)
}

// interveneInRollouts does the work that strategies leave to users, and the work of deployments that were deleted in the
// middle of a rollout.
func (w *World) interveneInRollouts() {
	if w.adapter.fleet == nil {
		return
	}
	for _, s := range w.store.All(w.adapter.set) {
		if metav1.GetControllerOf(s) == nil && s.GetDeletionTimestamp() == nil {
			w.edit(s, "", w.adapter.fleet.free)
		}
	}
	for _, d := range w.deployments() {
		switch v := w.adapter.fleet.view(d); {
		case v.Strategy == rollout.OnDelete:
			for _, m := range w.living(d) {
				if !w.adapter.fleet.set(d, w.setOf(m)).Current {
					w.deleteObject(m)
					w.does("deletes machine %s of an old template", m.GetName())
				}
			}
		case v.Strategy == rollout.InPlace && v.ByHand:
			for _, n := range w.candidates() {
				w.edit(n, "", func(o client.Object) { w.adapter.fleet.choose(o.(*corev1.Node)) })
				w.does("selects node %s to be updated", n.Name)
			}
		}
	}
}
