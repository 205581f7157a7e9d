package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

const (
	// imagesPoll is the pause between two reads of the images file.
	imagesPoll = 2 * time.Second
	// groupsPoll is the pause between two checks whether a cluster without config.openshift.io has it now.
	groupsPoll = 10 * time.Second
	// firstRetry and lastRetry bound the pauses between passes that fail.
	firstRetry, lastRetry = 100 * time.Millisecond, 30 * time.Second
)

// trigger is a kind whose objects, by name, start a pass.
type trigger struct {
	kind  schema.GroupVersionKind
	names []string
}

// configurationTriggers are the objects that operands and the report depend on, in a cluster with
// config.openshift.io.
func configurationTriggers() []trigger {
	config := func(kind string, names ...string) trigger {
		return trigger{configv1.GroupVersion.WithKind(kind), names}
	}
	return []trigger{
		config("ClusterOperator", operands.WebhooksName), config("Infrastructure", cluster), config("Proxy", cluster),
		config("APIServer", cluster), config("FeatureGate", cluster),
	}
}

// operandTriggers are all operands, the operator's own Deployment, and the bundle that programs trust.
func operandTriggers() []trigger {
	policies := []string{"vsphere-failure-domain-in-use-by-machine", "vsphere-failure-domain-in-use-by-machineset", "vsphere-failure-domain-in-use-by-cpms"}
	hooks := func(kind string, names ...string) trigger {
		return trigger{admissionregistrationv1.SchemeGroupVersion.WithKind(kind), names}
	}
	return []trigger{
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), []string{operands.ControllersName, Name}},
		{appsv1.SchemeGroupVersion.WithKind("DaemonSet"), []string{operands.TerminationName}},
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), []string{operands.TrustedCAConfigMap}},
		hooks("MutatingWebhookConfiguration", operands.WebhooksName, operands.RemediationName),
		hooks("ValidatingWebhookConfiguration", operands.WebhooksName, operands.RemediationName),
		hooks("ValidatingAdmissionPolicy", policies...),
		hooks("ValidatingAdmissionPolicyBinding", policies...),
	}
}

// limiter paces failed passes. It never stops retrying.
func limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
}

// SetupWithManager adds the operator to a manager. Clock paces the reads of the images file.
func (o *Operator) SetupWithManager(mgr ctrl.Manager, clk clock.WithTicker) error {
	c, err := controller.New(Name, mgr, controller.Options{
		Reconciler: o, MaxConcurrentReconciles: 1, SkipNameValidation: ptr.To(true),
		RateLimiter: limiter(),
	})
	if err != nil {
		return fmt.Errorf("make the operator's controller: %w", err)
	}
	return c.Watch(source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(o.request())
		go o.watchImages(ctx, clk, func() { queue.Add(o.request()) })
		w := watcher{in: mgr.GetCache(), live: o.Client, namespace: o.Namespace, clk: clk, queue: queue, pass: o.request()}
		go o.watchConfiguration(ctx, clk, w)
		w.watch(ctx, operandTriggers())
		return nil
	}))
}

func (o *Operator) request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: o.Namespace, Name: Name}}
}

// watchConfiguration watches config.openshift.io from the moment at which the cluster has it.
func (o *Operator) watchConfiguration(ctx context.Context, clk clock.WithTicker, w watcher) {
	ticker := clk.NewTicker(groupsPoll)
	defer ticker.Stop()
	for {
		if g, err := o.groups(); err == nil && g.openshift() {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
	w.queue.Add(w.pass)
	w.watch(ctx, configurationTriggers())
}

// watchImages calls changed whenever the images file changes, appears or disappears.
func (o *Operator) watchImages(ctx context.Context, clk clock.WithTicker, changed func()) {
	read := func() []byte {
		raw, err := os.ReadFile(o.ImagesFile)
		if err != nil {
			return []byte(err.Error())
		}
		return raw
	}
	ticker := clk.NewTicker(imagesPoll)
	defer ticker.Stop()
	for last := read(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if now := read(); !bytes.Equal(now, last) {
			last = now
			changed()
		}
	}
}
