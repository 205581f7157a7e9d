package sim

import (
	"context"
	"errors"
	"math/rand/v2"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/controller/capacity"
	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/controller/machineclass"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// helperProfile says whether the helper controllers run. They hold classes that machines use, and publish the capacity of
// the machines of sets.
type helperProfile struct{ helpers bool }

// helperSource is the source of random numbers of this profile alone.
const helperSource = widerSource + 0xa1de5

func (a *helperProfile) draw(r *rand.Rand) { a.helpers = r.IntN(4) == 0 }

// helperClients are the clients of the helper controllers.
func (p *process) helperClients() (client.Client, client.Reader) {
	if m := p.w.o.Mutation; m != nil && m.Helpers != nil {
		return m.Helpers(p.client, p.live)
	}
	return p.client, p.live
}

// runClasses lets p hold classes.
func runClasses(p *process) {
	p.w.must("index", p.w.store.IndexField(context.Background(), &v1alpha1.Machine{}, machineclass.ClassIndex, machineclass.ClassOf))
	c, live := p.helperClients()
	p.reconcile = (&machineclass.Classes{Client: c, Live: live}).Reconcile
	p.wakes = func(e store.Event) (out []enqueue.Request) {
		for _, o := range []client.Object{e.Old, e.New} {
			var names []string
			switch o := o.(type) {
			case *v1alpha1.MachineClass:
				names = []string{o.Name}
			case *v1alpha1.Machine:
				if e.Old == nil || e.New == nil || e.Old.(*v1alpha1.Machine).Spec.Class != e.New.(*v1alpha1.Machine).Spec.Class {
					names = machineclass.ClassOf(o)
				}
			}
			for _, name := range names {
				key := types.NamespacedName{Namespace: o.GetNamespace(), Name: name}
				out = append(out, enqueue.Request{Request: reconcile.Request{NamespacedName: key}})
			}
		}
		return out
	}
	p.holdSecrets()
}

// followClasses wakes the machines of a class that is created, changed or deleted.
func (p *process) followClasses() {
	if !p.w.profile.helpers {
		return
	}
	p.w.must("index", p.w.store.IndexField(context.Background(), &v1alpha1.Machine{}, machineclass.ClassIndex, machineclass.ClassOf))
	others := p.wakes
	p.wakes = func(e store.Event) (out []enqueue.Request) {
		_, is := e.Object().(*v1alpha1.MachineClass)
		if !is || e.Old != nil && e.New != nil && e.Old.GetGeneration() == e.New.GetGeneration() {
			return others(e)
		}
		for _, r := range machineclass.MachinesOfClass(context.Background(), p.client, client.ObjectKeyFromObject(e.Object())) {
			out = append(out, enqueue.Request{Request: r})
		}
		return append(out, others(e)...)
	}
}

// runCapacity lets p publish the capacity of the machines of sets and deployments.
func runCapacity(p *process, classes openshift.Resolver) {
	var c client.Client
	c, classes.Reader = p.helperClients()
	var all []*capacity.Reconciler
	for _, kind := range []dialect.Scaled{openshift.ScaledSets{}, openshift.ScaledDeployments{}} {
		all = append(all, capacity.New(capacity.Options{
			Kind: kind, Client: c, Resolver: dialect.AnyResolver(classes), Provider: p.infrastructure(), Recorder: recorder{p},
		}))
	}
	p.reconcile = func(ctx context.Context, req reconcile.Request) (out reconcile.Result, err error) {
		for _, r := range all {
			res, failed := r.Reconcile(ctx, req)
			out.RequeueAfter, err = lifecycle.Earlier(out.RequeueAfter, res.RequeueAfter), errors.Join(err, failed)
		}
		return out, err
	}
	p.wakes = func(e store.Event) []enqueue.Request {
		switch o := e.Object().(type) {
		case *machinev1.MachineSet, *v1beta1.MachineDeployment:
			return []enqueue.Request{{Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}}}
		}
		return nil
	}
}
