package machinehealthcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// restart requests a reboot of the machine, which the machine's controller carries out. If there is a
// request that the plan did not know, another client was faster.
func (r *remediator[C]) restart(ctx context.Context, m client.Object, c *health.Case) error {
	if dialect.ReadRebooting(m).Request != c.Target.Reboot.Request {
		return nil
	}
	before := m.DeepCopyObject().(client.Object)
	asked := lifecycle.Rebooting{Request: c.Request.UTC().Format(time.RFC3339), Until: c.Until, For: c.For}
	dialect.WriteRebootRequest(m, asked, r.object.GetName())
	err := r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		r.say(&c.Target, corev1.EventTypeWarning, dialect.EventRebootRequestFailed, "Requesting a reboot of machine %v failed: "+escape(err))
		return fmt.Errorf("request a reboot of machine %s: %w", m.GetName(), err)
	}
	r.say(&c.Target, corev1.EventTypeNormal, dialect.EventRebootRequested, "Requesting a reboot of machine %v before it is replaced")
	r.Metrics.remedied(client.ObjectKeyFromObject(r.object))
	return nil
}

// escalated says why a machine is replaced that was to be rebooted first.
func (r *remediator[C]) escalated(c *health.Case) {
	if c.Tried != "" {
		r.emit(&c.Target, corev1.EventTypeNormal, dialect.EventEscalated, dialect.ActionRemediate,
			fmt.Sprintf("Machine %s is replaced: %s", r.title(&c.Target), c.Tried))
	}
}

// withdraw removes the requests of machines that are healthy again.
func (r *remediator[C]) withdraw(ctx context.Context) error {
	var errs []error
	for i := range r.plan.Withdrawn {
		t := &r.plan.Withdrawn[i]
		m, err := r.still(ctx, t)
		if m == nil || err != nil {
			errs = append(errs, err)
			continue
		}
		if dialect.ReadRebooting(m).Request != t.Reboot.Request {
			continue
		}
		before := m.DeepCopyObject().(client.Object)
		dialect.SetAnnotation(m, dialect.RebootRequestAnnotation, "")
		if err := r.Client.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("withdraw the reboot of machine %s: %w", t.Name, err))
		}
	}
	return errors.Join(errs...)
}
