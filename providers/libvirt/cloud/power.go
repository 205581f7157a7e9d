package cloud

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// Power implements [provider.Powerer]. It does not ask the guest to shut down: the caller has lost contact
// with the node.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	err := s.with(ctx, func(c call) error {
		d, err := c.domainOf(ctx, i)
		if err != nil {
			return err
		}
		switch op {
		case provider.PowerOn:
			return c.start(ctx, d)
		case provider.PowerOff:
			return c.stop(ctx, d)
		case provider.Reboot:
			return c.reboot(ctx, d, request)
		}
		return provider.Errorf(provider.Invalid, "libvirt has no power operation %q", op)
	})
	if err != nil {
		return fmt.Errorf("power %s of %s: %w", op, ref.Name, err)
	}
	return nil
}

// stop powers a domain off, unless it is off.
func (c call) stop(ctx context.Context, d *domain) error {
	err := do(ctx, c.conn, func(l *libvirt.Libvirt) error { return l.DomainDestroyFlags(d.Domain, 0) })
	if err == nil {
		return nil
	}
	if on, looked := c.running(ctx, d); looked == nil && !on {
		return nil
	}
	return fmt.Errorf("power off domain %s: %w", d.Domain.Name, err)
}

// reboot stores the request with the number of the run to end, since libvirt numbers the runs of a domain: so
// a repeated request can tell whether that run has ended. It powers the domain off and on, because a reset
// does not change the number. Without a request, each call is another reboot.
func (c call) reboot(ctx context.Context, d *domain, request string) error {
	if request == "" || d.reboot.Request != request {
		d.reboot = reboot{Request: request, Run: d.ID}
		if err := c.record(ctx, d, "reboot", nsReboot, d.reboot); err != nil {
			return err
		}
	} else if d.reboot.Done {
		return nil
	}
	if d.ID == d.reboot.Run && d.ID >= 0 {
		if err := c.stop(ctx, d); err != nil {
			return err
		}
	}
	if err := c.start(ctx, d); err != nil {
		return err
	}
	d.reboot.Done = true
	return c.record(ctx, d, "reboot", nsReboot, d.reboot)
}
