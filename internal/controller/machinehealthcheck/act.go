package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// remediator carries out a plan's decisions about machines.
type remediator[C client.Object] struct {
	*Reconciler[C]
	eventReporter
	Client   *readyourwrites.Client
	state    *state
	patients dialect.Patients
	object   C
	check    health.Check
	now      time.Time
	seen     connectivity.State
	plan     health.Plan
	// cluster is the cluster whose nodes the plan is based on.
	cluster string
	// asked is the outcome of requests.
	asked asked
}

// asked is the outcome of requests to controllers of other kinds: whether there are any, and why one could
// not be created.
type asked struct {
	any                     bool
	templateErr, requestErr error
}

func (p *pass[C]) remediator() *remediator[C] {
	return &remediator[C]{
		Reconciler: p.Reconciler, eventReporter: p.reporter(), Client: p.Client, state: p.state, patients: p.patients,
		object: p.object, check: p.check, now: p.now, seen: p.seen, plan: p.plan, cluster: p.answers,
	}
}

// carryOut does everything in the plan.
func (r *remediator[C]) carryOut(ctx context.Context) (asked, error) {
	err := errors.Join(r.remediation(ctx), r.withdraw(ctx), r.clear(ctx))
	return r.asked, err
}

// remediation begins the planned remedies, or begins them again. A failure about one machine does not block the
// remedy of another.
func (r *remediator[C]) remediation(ctx context.Context) error {
	var errs []error
	r.state.remedied = map[string]bool{}
	for i := range r.plan.Cases {
		c := &r.plan.Cases[i]
		switch {
		case c.Act == health.Refer && !r.state.referred[c.Target.UID]:
			r.state.referred[c.Target.UID] = true
			r.say(&c.Target, corev1.EventTypeNormal, dialect.EventSkippedNoController, "Machine %v has no controller owner, skipping remediation")
		case c.Act == health.Do:
			r.state.remedied[c.Target.Name] = true
			errs = append(errs, r.do(ctx, c))
		}
	}
	return errors.Join(errs...)
}

func (r *remediator[C]) do(ctx context.Context, c *health.Case) error {
	m, err := r.still(ctx, &c.Target)
	if m == nil || err != nil {
		return err
	}
	if err := r.sameCluster(ctx); err != nil {
		return err
	}
	if c.Confirm {
		if sick, err := r.sick(ctx, m); !sick || err != nil {
			return err
		}
	}
	switch c.Remediation {
	case health.Mark:
		return r.mark(ctx, m, c)
	case health.Reboot:
		return r.reboot(ctx, c)
	case health.Restart:
		return r.restart(ctx, m, c)
	case health.Request:
		return r.request(ctx, m, c)
	}
	r.escalated(c)
	return r.delete(ctx, m, c)
}

// still reads the machine from the API server: nil if it does not exist, is under deletion, or has its node
// after all. An object that a cache lacks may still exist.
func (r *remediator[C]) still(ctx context.Context, t *health.Target) (client.Object, error) {
	m := r.patients.Machine()
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, m)
	switch {
	case apierrors.IsNotFound(err), err == nil && (m.GetUID() != t.UID || m.GetDeletionTimestamp() != nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read machine %s: %w", t.Name, err)
	case t.Failed || t.NodeName == "" || t.Node != nil:
		return m, nil
	}
	n, err := readNode(ctx, r.LiveNodes, t.NodeName)
	if n != nil || err != nil {
		return nil, err
	}
	return m, nil
}

// sick judges a machine by the present answers of the API servers about it and its node, not by caches,
// which may be behind.
func (r *remediator[C]) sick(ctx context.Context, m client.Object) (bool, error) {
	n, err := readNode(ctx, r.LiveNodes, r.patients.NodeName(m))
	if err != nil {
		return false, err
	}
	t := r.patients.Patient(m, health.NodeOf(n, dialect.RackLabel(r.object)))
	return health.Evaluate(r.now, r.seen, &r.check, &t).State == health.Unhealthy, nil
}

func (r *remediator[C]) delete(ctx context.Context, m client.Object, c *health.Case) error {
	from := r.Clock.Now()
	err := r.Client.Delete(ctx, m, client.Preconditions{UID: ptr.To(m.GetUID())})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		r.say(&c.Target, corev1.EventTypeWarning, dialect.EventMachineDeletionFailed, "Machine %v remediation failed: unable to delete Machine object: "+escape(err))
		return fmt.Errorf("delete machine %s: %w", m.GetName(), err)
	}
	r.say(&c.Target, corev1.EventTypeNormal, dialect.EventMachineDeleted, "Machine %v has been remediated by requesting to delete Machine object")
	r.Metrics.remedied(client.ObjectKeyFromObject(r.object))
	if r.Tracer != nil {
		r.Tracer.Did(string(m.GetUID()), "MachineHealthCheck deletes", from, nil,
			"machine", client.ObjectKeyFromObject(m), "healthCheck", client.ObjectKeyFromObject(r.object), "node", c.Target.NodeName)
	}
	return nil
}

// mark requests a remedy for the machine from other controllers, unless that is requested already, which
// the cache may not show yet.
func (r *remediator[C]) mark(ctx context.Context, m client.Object, c *health.Case) error {
	before := m.DeepCopyObject().(client.Object)
	r.patients.Mark(m)
	if equality.Semantic.DeepEqual(before, m) {
		return nil
	}
	if err := r.Client.Patch(ctx, m, client.MergeFrom(before)); err != nil {
		r.say(&c.Target, corev1.EventTypeWarning, dialect.EventExternalAnnotationFailed, "Requesting external remediation of node associated with machine %v failed: "+escape(err))
		return fmt.Errorf("mark machine %s: %w", m.GetName(), err)
	}
	r.say(&c.Target, corev1.EventTypeNormal, dialect.EventExternalAnnotationAdded, "Requesting external remediation of node associated with machine %v")
	return nil
}

func (r *remediator[C]) reboot(ctx context.Context, c *health.Case) error {
	n, err := readNode(ctx, r.Nodes, c.Target.NodeName)
	if n == nil || err != nil {
		return err
	}
	after := n.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[health.RebootAnnotation] = ""
	if err := r.Nodes.Patch(ctx, after, client.MergeFrom(n)); client.IgnoreNotFound(err) != nil {
		r.say(&c.Target, corev1.EventTypeWarning, dialect.EventExternalAnnotationFailed, "Requesting a restart of the node of machine %v failed: "+escape(err))
		return fmt.Errorf("mark node %s: %w", n.Name, err)
	}
	r.say(&c.Target, corev1.EventTypeNormal, dialect.EventExternalAnnotationAdded, "Requesting a restart of the node of machine %v")
	return nil
}
