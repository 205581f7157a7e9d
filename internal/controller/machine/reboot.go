package machine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// lookForReboot reads what is asked about a reboot. What this process knows to
// have come of it counts where storing that failed.
func (p *pass[M]) lookForReboot() {
	p.view.Reboot = dialect.ReadRebooting(p.m)
	if r := p.mem.reboot; r.Answered != "" && r.Answered == p.view.Reboot.Request {
		r.Request, r.Until = p.view.Reboot.Request, p.view.Reboot.Until
		p.view.Reboot = r
	}
}

// rebootPower is how the session reboots.
func rebootPower(s provider.Session) lifecycle.RebootPower {
	if _, ok := provider.As[provider.Rebooter](s); ok {
		return lifecycle.RebootsOnce
	}
	if _, ok := provider.As[provider.Powerer](s); ok {
		return lifecycle.RebootsEachTime
	}
	return ""
}

// reboot restarts the instance. That it is about to is stored first: who crashes
// in between must not do so for ever.
func (p *pass[M]) reboot(ctx context.Context) error {
	r, call := p.view.Reboot.Begin(p.Clock.Now(), p.world.Session.RebootPower)
	if err := p.recordReboot(ctx, r); err != nil {
		return err
	}
	if !call {
		p.sayReboot(corev1.EventTypeWarning, dialect.EventRebootUnsupported, "a reboot was asked for, and "+r.Message)
		return nil
	}
	i := p.instance()
	err := p.callReboot(ctx, *i, r.Request)
	r = r.End(p.Clock.Now(), err)
	p.mem.reboot = r
	if err != nil {
		p.sayReboot(corev1.EventTypeWarning, dialect.EventRebootFailed, fmt.Sprintf("reboot instance %s: %v", i.ID, err))
	} else {
		p.sayReboot(corev1.EventTypeNormal, dialect.EventRebooted, fmt.Sprintf("rebooted instance %s, as was asked for at %s", i.ID, r.Request))
	}
	return p.recordReboot(ctx, r)
}

func (p *pass[M]) callReboot(ctx context.Context, i provider.Instance, request string) error {
	if s, ok := provider.As[provider.Rebooter](p.session); ok {
		return s.Reboot(ctx, p.ref(), i, request)
	}
	s, ok := provider.As[provider.Powerer](p.session)
	if !ok {
		return provider.Errorf(provider.Invalid, "the provider cannot reboot")
	}
	return s.Power(ctx, p.ref(), i, provider.Reboot)
}

// recordReboot stores how far the reboot is.
func (p *pass[M]) recordReboot(ctx context.Context, r lifecycle.Rebooting) error {
	before := p.m.DeepCopyObject().(M)
	p.m = before.DeepCopyObject().(M)
	dialect.WriteReboot(p.m, r)
	if err := p.save(ctx, before); err != nil {
		return fmt.Errorf("store how far the reboot is: %w", err)
	}
	p.view.Reboot = r
	return nil
}

// storeReboot stores what came of a reboot where that failed before.
func (p *pass[M]) storeReboot(ctx context.Context) error {
	if p.mem.reboot.Answered == "" || dialect.ReadRebooting(p.m).Equal(p.view.Reboot) {
		return nil
	}
	return p.recordReboot(ctx, p.view.Reboot)
}

func (p *pass[M]) sayReboot(kind, reason, note string) {
	p.Recorder.Eventf(p.m, nil, kind, reason, dialect.ActionReboot, "%s", dialect.Note(note))
}
