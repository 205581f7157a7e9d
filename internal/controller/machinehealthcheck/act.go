package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// remedy begins, or begins again, what was decided. A failure about one machine
// does not keep another from being remedied.
func (p *pass[C]) remedy(ctx context.Context) error {
	var errs []error
	p.state.remedied = map[string]bool{}
	for i := range p.plan.Cases {
		c := &p.plan.Cases[i]
		switch {
		case c.Act == health.Refer && !p.state.referred[c.Target.UID]:
			p.state.referred[c.Target.UID] = true
			p.say(&c.Target, corev1.EventTypeNormal, dialect.EventSkippedNoController, "Machine %v has no controller owner, skipping remediation")
		case c.Act == health.Do:
			p.state.remedied[c.Target.Name] = true
			errs = append(errs, p.do(ctx, c))
		}
	}
	return errors.Join(errs...)
}

func (p *pass[C]) do(ctx context.Context, c *health.Case) error {
	m, err := p.still(ctx, &c.Target)
	if m == nil || err != nil {
		return err
	}
	if c.Confirm {
		if sick, err := p.sick(ctx, m); !sick || err != nil {
			return err
		}
	}
	switch c.Remedy {
	case health.Mark:
		return p.mark(ctx, m, c)
	case health.Reboot:
		return p.reboot(ctx, c)
	case health.Restart:
		return p.restart(ctx, m, c)
	case health.Request:
		return p.request(ctx, m, c)
	}
	p.escalated(c)
	return p.delete(ctx, m, c)
}

// still reads the machine from the API server: nil when it is gone, on its way
// out, or has its node after all. What a cache does not have may yet exist.
func (p *pass[C]) still(ctx context.Context, t *health.Target) (client.Object, error) {
	m := p.patients.Machine()
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Name}, m)
	switch {
	case apierrors.IsNotFound(err), err == nil && (m.GetUID() != t.UID || m.GetDeletionTimestamp() != nil):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read machine %s: %w", t.Name, err)
	case t.Failed || t.NodeName == "" || t.Node != nil:
		return m, nil
	}
	n, err := p.node(ctx, p.LiveNodes, t.NodeName)
	if n != nil || err != nil {
		return nil, err
	}
	return m, nil
}

// sick judges a machine by what the API servers say of it and its node now, and
// not by caches, which need not have caught up with what was not seen.
func (p *pass[C]) sick(ctx context.Context, m client.Object) (bool, error) {
	n, err := p.node(ctx, p.LiveNodes, p.patients.NodeName(m))
	if err != nil {
		return false, err
	}
	t := p.patients.Patient(m, health.NodeOf(n, dialect.RackLabel(p.object)))
	return health.Evaluate(p.now, p.seen, &p.check, &t).State == health.Unhealthy, nil
}

func (p *pass[C]) delete(ctx context.Context, m client.Object, c *health.Case) error {
	err := p.Client.Delete(ctx, m, client.Preconditions{UID: ptr.To(m.GetUID())})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		p.say(&c.Target, corev1.EventTypeWarning, dialect.EventMachineDeletionFailed, "Machine %v remediation failed: unable to delete Machine object: "+escape(err))
		return fmt.Errorf("delete machine %s: %w", m.GetName(), err)
	}
	p.say(&c.Target, corev1.EventTypeNormal, dialect.EventMachineDeleted, "Machine %v has been remediated by requesting to delete Machine object")
	p.Metrics.remedied(client.ObjectKeyFromObject(p.object))
	return nil
}

// mark asks others to remedy the machine, unless that is asked for already, which the
// cache has yet to show.
func (p *pass[C]) mark(ctx context.Context, m client.Object, c *health.Case) error {
	before := m.DeepCopyObject().(client.Object)
	p.patients.Mark(m)
	if equality.Semantic.DeepEqual(before, m) {
		return nil
	}
	if err := p.Client.Patch(ctx, m, client.MergeFrom(before)); err != nil {
		p.say(&c.Target, corev1.EventTypeWarning, dialect.EventExternalAnnotationFailed, "Requesting external remediation of node associated with machine %v failed: "+escape(err))
		return fmt.Errorf("mark machine %s: %w", m.GetName(), err)
	}
	p.say(&c.Target, corev1.EventTypeNormal, dialect.EventExternalAnnotationAdded, "Requesting external remediation of node associated with machine %v")
	return nil
}

func (p *pass[C]) reboot(ctx context.Context, c *health.Case) error {
	n, err := p.node(ctx, p.Nodes, c.Target.NodeName)
	if n == nil || err != nil {
		return err
	}
	after := n.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[health.RebootAnnotation] = ""
	if err := p.Nodes.Patch(ctx, after, client.MergeFrom(n)); client.IgnoreNotFound(err) != nil {
		p.say(&c.Target, corev1.EventTypeWarning, dialect.EventExternalAnnotationFailed, "Requesting a restart of the node of machine %v failed: "+escape(err))
		return fmt.Errorf("mark node %s: %w", n.Name, err)
	}
	p.say(&c.Target, corev1.EventTypeNormal, dialect.EventExternalAnnotationAdded, "Requesting a restart of the node of machine %v")
	return nil
}
