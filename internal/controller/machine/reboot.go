package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// reboot restarts the instance. The attempt is stored first: a process that crashes in between must not
// repeat it for ever.
func (p *pass[M]) reboot(ctx context.Context, d lifecycle.Decision) error {
	r, call := p.view.Reboot.Saw(p.world.Reboot).Begin(p.Clock.Now(), p.world.Session.RebootPower)
	if err := p.rebooting(ctx, d, r); err != nil {
		return err
	}
	if !call {
		p.eventReporter().event(corev1.EventTypeWarning, dialect.EventRebootUnsupported, dialect.ActionReboot, "a reboot was asked for, and "+r.Message)
		return nil
	}
	i := p.instance()
	err := p.infra.reboot(ctx, p.ref(), *i, r.Request)
	r = r.End(p.Clock.Now(), err)
	p.mem.reboot = r
	if err != nil {
		p.eventReporter().event(corev1.EventTypeWarning, dialect.EventRebootFailed, dialect.ActionReboot, fmt.Sprintf("reboot instance %s: %v", i.ID, err))
	} else {
		p.eventReporter().event(corev1.EventTypeNormal, dialect.EventRebooted, dialect.ActionReboot, fmt.Sprintf("rebooted instance %s, as was asked for at %s", i.ID, r.Request))
	}
	return p.rebooting(ctx, d, r)
}

// rebooting stores the progress of the reboot.
func (p *pass[M]) rebooting(ctx context.Context, d lifecycle.Decision, r lifecycle.Rebooting) error {
	p.world.Reboot = r
	if err := p.recordNow(ctx, d); err != nil {
		return fmt.Errorf("store how far the reboot is: %w", err)
	}
	return nil
}
