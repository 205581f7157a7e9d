package sim

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/controller/machinedeployment"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// fleet has the differences between the dialects' deployments that the world's own actors and the checks need.
type fleet struct {
	// deployment is an empty deployment.
	deployment client.Object
	// view, policy and selector read a deployment; set and machine read its parts. alike reports whether two sets have the same
	// template, adopts whether d may take over s, which has no controller.
	view     func(d client.Object) rollout.Deployment
	policy   func(d client.Object) rollout.Policy
	selector func(d client.Object) labels.Selector
	set      func(d, s client.Object) rollout.Set
	machine  func(m client.Object, n *corev1.Node) rollout.Machine
	alike    func(a, b client.Object) bool
	adopts   func(d, s client.Object) bool
	run      func(p *process)

	fleetEdits
}

// fleetEdits are the users' edits of deployments.
type fleetEdits struct {
	// make returns a new deployment, restyle gives one another strategy.
	make    func(name string, n int) client.Object
	restyle func(d client.Object)
	resize  func(d client.Object, n int)
	// roll sets the template with the number, touch makes an edit that starts no rollout.
	roll   func(d client.Object, template int)
	touch  func(d client.Object)
	pause  func(d client.Object, paused bool)
	goBack func(d client.Object, revision int64)
	// scaleIn is an autoscaler's request to remove machines of d.
	scaleIn func(d client.Object, victims []client.Object)
	// thaw requests to unfreeze; nil if nothing freezes.
	thaw func(d client.Object)
	// free removes the mark that keeps a set without its deployment from growing.
	free func(s client.Object)
	// done reports whether the status says that the rollout is complete, and the counters of the status.
	done func(d client.Object) (bool, rollout.Status)
	// awaits reports whether the agent on the node may update it, answer writes the agent's result, choose selects a node for
	// an update; nil if nothing is updated in place.
	awaits func(n *corev1.Node) bool
	answer func(n *corev1.Node, ok bool)
	choose func(n *corev1.Node)
}

// templates is the number of different templates.
const templates = 3

// fleetOf creates a fleet from a lens.
func fleetOf[D, S client.Object](w *World, lens dialect.Deployments[D, S], sets dialect.Sets[S], edits fleetEdits) *fleet {
	return &fleet{
		deployment: lens.New(),
		view:       func(d client.Object) rollout.Deployment { return lens.View(d.(D), w.now).Deployment },
		policy:     func(d client.Object) rollout.Policy { return lens.View(d.(D), w.now).Policy },
		selector:   func(d client.Object) labels.Selector { return lens.View(d.(D), w.now).Selector },
		set:        func(d, s client.Object) rollout.Set { return lens.Sets().View(d.(D), s.(S)) },
		machine: func(m client.Object, n *corev1.Node) rollout.Machine {
			return lens.Machines().View(m, dialect.OnNode(n))
		},
		alike: func(a, b client.Object) bool {
			d, s := lens.New(), a.(S)
			lens.RollBack(d, &s, rollout.RollBack{})
			return lens.Sets().View(d, b.(S)).Current
		},
		adopts: func(d, s client.Object) bool {
			return lens.View(d.(D), w.now).Selector.Matches(labels.Set(s.GetLabels())) && lens.Sets().Adopts(d.(D), s.(S))
		},
		run:        func(p *process) { runDeployments(p, lens, alarmsOf(p, sets)) },
		fleetEdits: edits,
	}
}

// deploymentLens is a lens of deployments with a defect.
type deploymentLens[D, S client.Object] struct {
	dialect.Deployments[D, S]
	m *Defects
}

// runDeployments has p run the machine deployment controller.
func runDeployments[D, S client.Object](p *process, lens dialect.Deployments[D, S], alarms machinedeployment.Alarms) {
	w, m := p.w, p.w.o.Mutation
	if m != nil {
		lens = misread(lens, &m.Defects)
		if m.Defects.Client != nil {
			p.client, p.live = m.Defects.Client(p.client, p.live)
			p.target, p.targetLive = m.Defects.Client(p.target, p.targetLive)
		}
	}
	if !w.profile.checks { // otherwise their alarms are judged as well
		p.plans = planDeployments(lens)
	}
	o := machinedeployment.Options{
		Client: p.client, Live: p.live, Nodes: p.target, LiveNodes: p.targetLive, Recorder: recorder{p}, Connectivity: p.connectivity(), Clock: p, Writes: replicas.Sequential, Alarms: alarms,
	}
	r := machinedeployment.New(lens, o)
	w.must("index sets and machines", r.Index(context.Background(), w.store))
	p.reconcile = r.Reconcile
	if m != nil && (m.Forgetful || m.Defects.Forgetful) {
		p.reconcile = func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			return machinedeployment.New(lens, o).Reconcile(ctx, req)
		}
	}
	p.wakes = wakesBy(r.Wakes, "MachineDeployment", "MachineSet", "Machine", "Node")
	if alarms != nil {
		p.wakes = alsoBy(p.wakes, wakesBy(r.WakesOfCheck, "MachineHealthCheck"))
	}
}

// setOf returns the set that controls m, or nil if it does not exist.
func (w *World) setOf(m client.Object) client.Object {
	ref := metav1.GetControllerOf(m)
	if ref == nil {
		return nil
	}
	s := w.store.Lookup(w.of(m).set, client.ObjectKey{Namespace: m.GetNamespace(), Name: ref.Name})
	if s == nil || s.GetUID() != ref.UID {
		return nil
	}
	return s
}

// machineOf returns the machine with the UID, or nil if none exists.
func (w *World) machineOf(uid string) client.Object {
	for _, m := range w.machines() {
		if string(m.GetUID()) == uid {
			return m
		}
	}
	return nil
}

// deployments are all deployments.
func (w *World) deployments() []client.Object {
	if w.adapter.fleet == nil {
		return nil
	}
	return w.store.All(w.adapter.fleet.deployment)
}

// deploymentOf returns the deployment that controls the set, or nil if none exists.
func (w *World) deploymentOf(s client.Object) client.Object {
	ref := metav1.GetControllerOf(s)
	if ref == nil || w.adapter.fleet == nil {
		return nil
	}
	d := w.store.Lookup(w.of(s).fleet.deployment, client.ObjectKey{Namespace: s.GetNamespace(), Name: ref.Name})
	if d == nil || d.GetUID() != ref.UID {
		return nil
	}
	return d
}

// setsOf are the sets that d controls.
func (w *World) setsOf(d client.Object) (out []client.Object) {
	for _, s := range w.store.All(w.of(d).set) {
		if metav1.IsControlledBy(s, d) {
			out = append(out, s)
		}
	}
	return out
}

// controlled are the machines that s controls.
func (w *World) controlled(s client.Object) (out []client.Object) {
	for _, m := range w.store.All(w.of(s).machine) {
		if metav1.IsControlledBy(m, s) {
			out = append(out, m)
		}
	}
	return out
}

// fact is the machine as the engine of rollouts sees it in the current objects.
func (w *World) fact(m client.Object) rollout.Machine {
	read := w.of(m).fleet.machine
	return read(m, w.node(read(m, nil).Node))
}

// living are the machines of d that are not being deleted.
func (w *World) living(d client.Object) (out []client.Object) {
	for _, s := range w.setsOf(d) {
		for _, m := range w.controlled(s) {
			if w.fact(m).Counts() {
				out = append(out, m)
			}
		}
	}
	return out
}
