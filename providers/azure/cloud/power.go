package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/millwright-dev/millwright/provider"
)

// Power implements [provider.Powerer]. Off keeps the machine's host, so that it can start again: its price
// stays the same. Azure restarts only running machines: others are started. Each call to reboot is another
// reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.newCall(ctx)
	if err != nil {
		return err
	}
	at, ok := parseID(i.ID)
	if !ok {
		return provider.Errorf(provider.Conflict, "%s is no virtual machine's ID", i.ID)
	}
	vm, err := c.machine(ctx, at.group, at.name)
	switch {
	case err != nil:
		return err
	case vm == nil || tagOf(vm.Tags, tagUID) != i.UID:
		return provider.Errorf(provider.Conflict, "virtual machine %s does not exist", at.name)
	}
	power, _ := readInstanceView(vm.Properties.InstanceView)
	vms := c.compute.NewVirtualMachinesClient()
	switch {
	case op == provider.PowerOff:
		_, err = vms.BeginPowerOff(ctx, at.group, at.name, nil)
	case op == provider.Reboot && power == "running":
		_, err = vms.BeginRestart(ctx, at.group, at.name, nil)
	case power != "running":
		_, err = vms.BeginStart(ctx, at.group, at.name, nil)
	}
	return s.observe(err, "power %s virtual machine %s", op, at.name)
}

// Console implements [provider.ConsoleReader]: one call for the log's link, and one for its end. The log
// exists if the spec enables boot diagnostics.
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	at, _ := parseID(i.ID)
	got, err := c.compute.NewVirtualMachinesClient().RetrieveBootDiagnosticsData(ctx, at.group, at.name, nil)
	if provider.KindOf(s.plan.called().classify(err)) == provider.Conflict || isMissing(err) {
		return "", nil // it has no boot diagnostics, or none yet
	}
	if err != nil {
		return "", s.observe(err, "ask for the console of %s", at.name)
	}
	return c.tail(ctx, deref(got.SerialConsoleLogBlobURI), limit)
}

// tail reads the end of the blob behind a signed link. Blob storage has no ranges that count from the end,
// so tail reads the length first.
// https://learn.microsoft.com/rest/api/storageservices/specifying-the-range-header-for-blob-service-operations
func (c *client) tail(ctx context.Context, link string, limit int) (string, error) {
	head, err := c.blob(ctx, http.MethodHead, link, "")
	if err != nil || head == nil {
		return "", err
	}
	_ = head.Body.Close()
	begin := max(0, head.ContentLength-int64(limit))
	resp, err := c.blob(ctx, http.MethodGet, link, fmt.Sprintf("bytes=%d-", begin))
	if err != nil || resp == nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return "", fmt.Errorf("read the console: %w", err)
	}
	return string(text[max(0, len(text)-limit):]), nil
}

// blob requests the blob behind a signed link; nil: there is nothing.
func (c *client) blob(ctx context.Context, method, link, within string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, link, nil)
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}
	if within != "" {
		req.Header.Set("Range", within)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		return resp, nil
	case http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable:
		return nil, resp.Body.Close()
	}
	return nil, errors.Join(fmt.Errorf("read the console: %s", resp.Status), resp.Body.Close())
}
