// Package csr approves the certificate requests of kubelets that run on
// machines. What is approved is decided in internal/approval.
package csr

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/approval"
)

// Approver approves the requests of one cluster.
type Approver struct {
	// Client reads from the cluster's cache and writes; Live reads past the
	// cache.
	Client client.Client
	Live   client.Reader
	Clock  clock.PassiveClock
	// Machines lists the machines of all APIs whose nodes join the cluster.
	Machines func(context.Context) ([]approval.Machine, error)
	// Refused is told, once per change, why a machine's request was not
	// granted; may be nil.
	Refused func(m approval.Machine, reason, message string)
	// Events records on the machine; may be nil.
	Events events.EventRecorder
}

// Reconcile looks at one request.
func (a *Approver) Reconcile(ctx context.Context, req ctrl.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}
