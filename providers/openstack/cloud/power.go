package cloud

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.Powerer       = &session{}
	_ provider.ConsoleReader = &session{}
)

// Power implements [provider.Powerer]. A reboot is a hard one, because its reason is a lost node. Each call
// to reboot is another reboot.
func (s *session) Power(ctx context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	switch op {
	case provider.PowerOn:
		err = servers.Start(ctx, c.compute, i.ID).ExtractErr()
	case provider.PowerOff:
		err = servers.Stop(ctx, c.compute, i.ID).ExtractErr()
	case provider.Reboot:
		err = servers.Reboot(ctx, c.compute, i.ID, servers.RebootOpts{Type: servers.HardReboot}).ExtractErr()
	default:
		return provider.Errorf(provider.Invalid, "OpenStack has no power operation %q", op)
	}
	switch {
	case err == nil:
		return nil
	case isGone(err):
		return provider.Errorf(provider.Conflict, "server %s of %s does not exist", i.ID, ref.Name)
	case statusOf(err) == http.StatusConflict && op != provider.Reboot:
		return call{s, c}.poweredAlready(ctx, i, op, err)
	}
	return fmt.Errorf("power %s of server %s: %w", op, i.ID, s.observe(classify(err)))
}

// poweredAlready treats a refusal as success if the server has the requested state.
func (c call) poweredAlready(ctx context.Context, i provider.Instance, op provider.PowerOp, refusal error) error {
	v, err := get(ctx, c.client, i.ID)
	if err != nil {
		return c.observe(err)
	}
	is := map[provider.PowerOp]provider.State{provider.PowerOn: provider.Running, provider.PowerOff: provider.Stopped}
	if v != nil && state(*v) == is[op] {
		return nil
	}
	return fmt.Errorf("power %s of server %s: %w", op, i.ID, classify(refusal))
}

// consoleLine is the approximate length of a console line in bytes.
const consoleLine = 80

// Console implements [provider.ConsoleReader].
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	// Nova counts lines. Empty ones are short, so that more lines may be needed than the limit has room
	// for.
	out, err := servers.ShowConsoleOutput(ctx, c.compute, i.ID, servers.ShowConsoleOutputOpts{Length: max(1, limit/consoleLine*4)}).Extract()
	switch {
	case isGone(err), gophercloud.ResponseCodeIs(err, http.StatusConflict): // deleted, or not ready
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the console of server %s: %w", i.ID, s.observe(classify(err)))
	}
	if len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out, nil
}
