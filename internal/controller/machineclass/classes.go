package machineclass

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// Classes holds each class by its finalizer while there are machines of it.
type Classes struct {
	// Client reads classes and machines from a cache with [ClassIndex], and
	// writes.
	Client client.Client
}

// Reconcile puts the finalizer on one class, or takes it away. A class that is
// deleted stays until its last machine is gone, whose going wakes it.
func (c *Classes) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var class v1alpha1.MachineClass
	if err := c.Client.Get(ctx, req.NamespacedName, &class); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var machines v1alpha1.MachineList
	err := c.Client.List(ctx, &machines, client.InNamespace(req.Namespace), client.MatchingFields{ClassIndex: req.Name})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the machines of class %s: %w", req, err)
	}
	held := hold{finalizer: v1alpha1.FinalizerMachine, wanted: len(machines.Items) > 0}
	return reconcile.Result{}, held.apply(ctx, c.Client, &class)
}
