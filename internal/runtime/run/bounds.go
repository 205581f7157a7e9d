package run

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// secretBounds asks an API server whether the process is kept from writing secrets of kube-system other than
// bootstrap tokens, which admission policy millwright-machine-controller-secrets does: without it the
// permission to create bootstrap tokens is the permission to get the token of every account there. A policy
// that does not match, or does not exist, causes no error.
type secretBounds struct {
	client client.Client
	events events.EventRecorder
	clock  clock.Clock
	log    logr.Logger
	gauge  prometheus.Gauge
	// unbounded is the last result.
	unbounded bool
}

// WatchSecretBounds repeats that check in the target cluster, where bootstrap tokens are written, while the
// process runs. Source is the source of its events.
func WatchSecretBounds(p *Process, source string) error {
	if p.Target == nil {
		return nil
	}
	c, err := client.New(p.Target.GetConfig(), client.Options{})
	if err != nil {
		return fmt.Errorf("connect to the target cluster: %w", err)
	}
	w := &secretBounds{client: c, events: p.Target.GetEventRecorder(source), clock: p.Clock, log: p.Log, gauge: NewBoundsGauge()}
	if err := metrics.Registry.Register(w.gauge); err != nil {
		return fmt.Errorf("register the gauge of secrets that are not bounded: %w", err)
	}
	p.Beside(w.run)
	return nil
}

const (
	// boundsPeriod is how often the check is repeated: an administrator may delete the policy.
	boundsPeriod = 30 * time.Minute
	// boundsPause is how long a policy may take from its installation until it is in force.
	boundsPause = 15 * time.Second
	// reasonUnbounded is the reason of the event on the namespace kube-system.
	reasonUnbounded = "SecretsNotBounded"
)

// NewBoundsGauge returns a gauge, which is 1 while the process is not bounded.
func NewBoundsGauge() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "millwright_secrets_unbounded",
		Help: "1 while the machine controller may write any secret of kube-system, because the admission policy that restricts it to bootstrap tokens does not apply to it; else 0.",
	})
}

// run checks until ctx ends.
func (w *secretBounds) run(ctx context.Context) error {
	for {
		unbounded, err := w.ask(ctx)
		switch {
		case err != nil:
			w.log.V(1).Info("not known whether secrets of kube-system are bounded", "why", err.Error())
		case unbounded && !w.unbounded:
			if !w.sleep(ctx, boundsPause) {
				return nil
			}
			if unbounded, err = w.ask(ctx); err == nil {
				w.tell(ctx, unbounded)
			}
		default:
			w.tell(ctx, unbounded)
		}
		if !w.sleep(ctx, boundsPeriod) {
			return nil
		}
	}
}

// sleep waits, and reports whether ctx is still active.
func (w *secretBounds) sleep(ctx context.Context, d time.Duration) bool {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// ask tries, in a dry run, to create a secret that the policy has to deny. A process without the permission
// to create secrets needs no bounds.
func (w *secretBounds) ask(ctx context.Context) (unbounded bool, err error) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, GenerateName: "millwright-policy-check-"}, Type: corev1.SecretTypeOpaque}
	err = w.client.Create(ctx, s, client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return err == nil, err
}

// tell sets the gauge, and reports once if the process is not bounded.
func (w *secretBounds) tell(ctx context.Context, unbounded bool) {
	w.gauge.Set(0)
	if unbounded {
		w.gauge.Set(1)
	}
	if unbounded && !w.unbounded {
		const note = "the machine controller may write any secret of kube-system, and so get the token of every account there: " +
			"the admission policy millwright-machine-controller-secrets is not installed, not bound, or does not apply to this account; " +
			"grant its Role the verb write on bootstraptokens.millwright.dev, as config/rbac/machine-controller does"
		w.log.Info("WARNING: " + note)
		if !w.mayTell(ctx) {
			w.unbounded = unbounded
			return
		}
		kubeSystem := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem}
		w.events.Eventf(kubeSystem, nil, corev1.EventTypeWarning, reasonUnbounded, "CheckPolicy", "%s", note)
	}
	w.unbounded = unbounded
}

// mayTell reports whether the event may be stored, which the roles of the originals do not allow: the
// recorder would log an error instead.
func (w *secretBounds) mayTell(ctx context.Context) bool {
	r := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: metav1.NamespaceDefault, Verb: "create", Group: "events.k8s.io", Resource: "events",
	}}}
	return w.client.Create(ctx, r) == nil && r.Status.Allowed
}
