package controlplanemachineset

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/controller/enqueue"
	"github.com/millwright-dev/millwright/internal/dialect/failuredomain"
)

// Bounds of the pause after a failed pass; it doubles from one to the other.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 2 * time.Minute
)

// The roles of machines besides [failuredomain.Master].
const controlPlane = "control-plane"

// Setup is how the controllers are run.
type Setup struct {
	// NodeCache is watched for nodes; nil: the manager's own.
	NodeCache cache.Cache
	// Platform: the cluster has the kinds Infrastructure and ClusterOperator, which are watched.
	Platform bool
}

// SetupWithManager registers both controllers.
func SetupWithManager(mgr ctrl.Manager, o Options, s Setup) error {
	if s.NodeCache == nil {
		s.NodeCache = mgr.GetCache()
	}
	wake := enqueue.Func(func(_ context.Context, before, after client.Object) []enqueue.Request {
		return wakes(o.Namespace, before, after)
	})
	options := func() controller.Options {
		return controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minRetry, maxRetry),
		}
	}
	sets := ctrl.NewControllerManagedBy(mgr).Named("controlplanemachineset").
		Watches(&machinev1.ControlPlaneMachineSet{}, wake).
		Watches(&machinev1beta1.Machine{}, wake).
		WatchesRawSource(source.Kind[client.Object](s.NodeCache, &corev1.Node{}, wake)).
		WithOptions(options())
	if s.Platform {
		sets = sets.Watches(&configv1.Infrastructure{}, wake).Watches(&configv1.ClusterOperator{}, wake)
	}
	if err := sets.Complete(New(o)); err != nil {
		return fmt.Errorf("set up the controller of control plane machine sets: %w", err)
	}
	generator := ctrl.NewControllerManagedBy(mgr).Named("controlplanemachinesetgenerator").
		Watches(&machinev1.ControlPlaneMachineSet{}, wake).
		Watches(&machinev1beta1.Machine{}, wake).
		WithOptions(options())
	if err := generator.Complete(NewGenerator(o)); err != nil {
		return fmt.Errorf("set up the generator of control plane machine sets: %w", err)
	}
	return nil
}

// wakes returns the set if a change concerns it: its own changes, and those of machines and nodes of a control plane.
func wakes(namespace string, before, after client.Object) []enqueue.Request {
	set := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: Name}}
	concerns := false
	for _, o := range []client.Object{before, after} {
		switch o := o.(type) {
		case *machinev1.ControlPlaneMachineSet:
			concerns = concerns || o.Namespace == namespace && o.Name == Name
		case *machinev1beta1.Machine:
			role := o.Labels[failuredomain.RoleLabel]
			concerns = concerns || o.Namespace == namespace && (role == failuredomain.Master || role == controlPlane)
		case *corev1.Node:
			concerns = concerns || ofControlPlane(o)
		case *configv1.Infrastructure:
			concerns = concerns || o.Name == Name
		case *configv1.ClusterOperator:
			concerns = concerns || o.Name == OperatorName
		}
	}
	was, isNode := before.(*corev1.Node)
	now, isToo := after.(*corev1.Node)
	if !concerns || isNode && isToo && readiness(was) == readiness(now) && ofControlPlane(was) == ofControlPlane(now) {
		return nil
	}
	return enqueue.Requests([]reconcile.Request{set}, 0)
}

func ofControlPlane(n *corev1.Node) bool {
	for _, label := range nodeRoles {
		if _, has := n.Labels[label]; has {
			return true
		}
	}
	return false
}

// readiness is the status of the condition Ready, which is all that decisions read of a node.
func readiness(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
