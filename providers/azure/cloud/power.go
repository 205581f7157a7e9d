package cloud

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/millwright-dev/millwright/provider"
)

// Power implements [provider.Powerer]. Off keeps the machine where it is, so that it comes back: it costs what it did. Azure restarts only what runs:
// what does not is started.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp) error {
	c, err := s.scene(ctx)
	if err != nil {
		return err
	}
	at, ok := placeOf(i.ID)
	if !ok {
		return provider.Errorf(provider.Conflict, "%s is no virtual machine's ID", i.ID)
	}
	vm, err := c.machine(ctx, at.group, at.name)
	switch {
	case err != nil:
		return err
	case vm == nil || tagOf(vm.Tags, tagUID) != i.UID:
		return provider.Errorf(provider.Conflict, "virtual machine %s is gone", at.name)
	}
	power, _ := see(vm.Properties.InstanceView)
	vms := c.compute.NewVirtualMachinesClient()
	switch {
	case op == provider.PowerOff:
		_, err = vms.BeginPowerOff(ctx, at.group, at.name, nil)
	case op == provider.Reboot && power == "running":
		_, err = vms.BeginRestart(ctx, at.group, at.name, nil)
	case power != "running":
		_, err = vms.BeginStart(ctx, at.group, at.name, nil)
	}
	return s.told(err, "power %s virtual machine %s", op, at.name)
}

// Console implements [provider.ConsoleReader]: a call for where the log is, and one for its end. It is there if the spec has boot diagnostics.
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	at, _ := placeOf(i.ID)
	got, err := c.compute.NewVirtualMachinesClient().RetrieveBootDiagnosticsData(ctx, at.group, at.name, nil)
	if provider.KindOf(s.design.called().classify(err)) == provider.Conflict || isMissing(err) {
		return "", nil // it has no boot diagnostics, or none yet
	}
	if err != nil {
		return "", s.told(err, "ask for the console of %s", at.name)
	}
	return c.tail(ctx, deref(got.SerialConsoleLogBlobURI), limit)
}

// tail reads the end of what is behind a signed link.
func (c *client) tail(ctx context.Context, link string, limit int) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return "", fmt.Errorf("read the console: %w", err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=-%d", limit))
	resp, err := c.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("read the console: %w", err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
		return "", nil
	default:
		return "", fmt.Errorf("read the console: %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return "", fmt.Errorf("read the console: %w", err)
	}
	return string(text[max(0, len(text)-limit):]), nil
}
