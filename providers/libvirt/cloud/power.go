package cloud

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// Power implements [provider.Powerer]. Whoever asks for it has lost the node, so that the guest is not asked.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	err := s.with(ctx, func(e errand) error {
		d, err := e.given(ctx, i)
		if err != nil {
			return err
		}
		switch op {
		case provider.PowerOn:
			return e.start(ctx, d)
		case provider.PowerOff:
			return e.stop(ctx, d)
		case provider.Reboot:
			return e.reboot(ctx, d, request)
		}
		return provider.Errorf(provider.Invalid, "libvirt has no power operation %q", op)
	})
	if err != nil {
		return fmt.Errorf("power %s of %s: %w", op, ref.Name, err)
	}
	return nil
}

// stop switches a domain off. One that is off stays so.
func (e errand) stop(ctx context.Context, d *domain) error {
	err := do(ctx, e.c, func(l *libvirt.Libvirt) error { return l.DomainDestroyFlags(d.Domain, 0) })
	if err == nil {
		return nil
	}
	if on, looked := e.on(ctx, d); looked == nil && !on {
		return nil
	}
	return fmt.Errorf("switch domain %s off: %w", d.Domain.Name, err)
}

// reboot stores the request with the number of the run that it ends, since libvirt numbers the runs of a domain: a repeated request
// shows whether that run has ended. Off and on again is a run more, which a reset is not. Without a request each call is another reboot.
func (e errand) reboot(ctx context.Context, d *domain, request string) error {
	if request == "" || d.reboot.Request != request {
		d.reboot = reboot{Request: request, Run: d.ID}
		if err := e.note(ctx, d, "reboot", nsReboot, d.reboot); err != nil {
			return err
		}
	} else if d.reboot.Done {
		return nil
	}
	if d.ID == d.reboot.Run && d.ID >= 0 {
		if err := e.stop(ctx, d); err != nil {
			return err
		}
	}
	if err := e.start(ctx, d); err != nil {
		return err
	}
	d.reboot.Done = true
	return e.note(ctx, d, "reboot", nsReboot, d.reboot)
}
