package machineclass

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Classes keeps each class by its finalizer while machines use it.
type Classes struct {
	// Client reads classes and machines from a cache with [ClassIndex], and
	// writes.
	Client client.Client
	// Live reads machines from the API server before a class is released.
	Live client.Reader
}

// Reconcile sets the finalizer on one class, or removes it. A deleted class stays until its last machine is
// deleted; that deletion wakes the class.
func (c *Classes) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var class v1alpha1.MachineClass
	if err := c.Client.Get(ctx, req.NamespacedName, &class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var machines v1alpha1.MachineList
	err := c.Client.List(ctx, &machines, client.InNamespace(req.Namespace), client.MatchingFields{ClassIndex: req.Name}, client.Limit(1), client.UnsafeDisableDeepCopy)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the machines of class %s: %w", req, err)
	}
	held := hold{finalizer: v1alpha1.FinalizerMachine, wanted: len(machines.Items) > 0}
	if !held.wanted && controllerutil.ContainsFinalizer(&class, held.finalizer) {
		if held.wanted, err = c.used(ctx, req); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, held.apply(ctx, c.Client, &class)
}

// used asks the API server for machines of the class: a stale cache does not show a machine that was just
// created, whose deletion will wake the class.
func (c *Classes) used(ctx context.Context, class reconcile.Request) (bool, error) {
	var all v1alpha1.MachineList
	if err := c.Live.List(ctx, &all, client.InNamespace(class.Namespace)); err != nil {
		return false, fmt.Errorf("list the machines of class %s past the cache: %w", class, err)
	}
	return slices.ContainsFunc(all.Items, func(m v1alpha1.Machine) bool { return slices.Contains(ClassOf(&m), class.Name) }), nil
}
