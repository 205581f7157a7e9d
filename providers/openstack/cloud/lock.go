package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// The first port of a machine prevents a second server. The process that creates the port may request the
// server from Nova; a process that finds an existing port looks for the server that the port was created
// for. Neutron assigns a MAC address once in a network, so that of two processes that create the same port
// at the same time one is refused. If MAC addresses may not be chosen (in networks of other projects, by
// default), a process that creates a port and sees another one of the machine removes its own again: then
// at most one continues, and perhaps none at first.
//
// A port without a server was left by a process that ended, or belongs to one that is about to request the
// server. Within the lease the provider assumes the latter. After it, the provider removes the port, looks
// for servers once more, and creates the port again: Nova refuses a request for a server with the old port,
// however late.

// lease is how long after a port's creation another process may still create its server.
const lease = time.Minute

// errChosen says that MAC addresses may not be chosen in a network.
var errChosen = errors.New("MAC addresses may not be chosen in this network")

// createdPorts records which ports this process has created and not used yet, and with which order.
type createdPorts struct {
	mu     sync.Mutex
	orders map[string]string
}

// mostRemembered limits the memory: a forgotten port costs a wait for the lease.
const mostRemembered = 10_000

func newCreatedPorts() *createdPorts { return &createdPorts{orders: map[string]string{}} }

func (m *createdPorts) add(id string, o portOrder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.orders) >= mostRemembered {
		clear(m.orders)
	}
	m.orders[id] = o.print()
}

// has reports whether this process has created the port, and whether with the same order.
func (m *createdPorts) has(id string, o portOrder) (made, alike bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order, ok := m.orders[id]
	return ok, ok && order == o.print()
}

func (m *createdPorts) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.orders, id)
}

// holder creates the ports of one machine, of which the first one is the lock for its server.
type holder struct {
	call
	ref provider.Ref
}

// held is the result of creating the first port: the port, or the ID of the server that has it.
type held struct {
	port   ports.Port
	server string
}

// hold creates the first port of ref, or finds an existing one.
func (h holder) hold(ctx context.Context, groups []string) (held, error) {
	o, err := h.order(ctx, 0, groups)
	if err != nil {
		return held{}, err
	}
	got, err := h.tryHold(ctx, o)
	if !errors.Is(err, errLeft) {
		return got, err
	}
	if err := h.release(ctx, got.port); err != nil {
		return held{}, err
	}
	if id, err := h.serverMeanwhile(ctx); err != nil || id != "" {
		return held{server: id}, err
	}
	got, err = h.tryHold(ctx, o)
	if errors.Is(err, errLeft) {
		err = h.atTheSameTime()
	}
	return got, err
}

// serverMeanwhile is the ID of a server that ref has by now; empty if it has none.
func (h holder) serverMeanwhile(ctx context.Context) (string, error) {
	found, err := h.find(ctx, h.ref)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].ID, nil
}

func (h holder) atTheSameTime() error {
	return provider.Errorf(provider.Conflict, "another process makes a port for %s at the same time", h.ref.Name)
}

// errLeft says that a port was left without a server.
var errLeft = errors.New("the port was left without a server")

func (h holder) tryHold(ctx context.Context, o portOrder) (held, error) {
	if o.mac() == "" {
		return h.holdAlone(ctx, o)
	}
	p, err := h.createPort(ctx, 0, o)
	switch {
	case err == nil:
		h.provider.created.add(p.ID, o)
		return h.alone(ctx, o, p)
	case errors.Is(err, errChosen):
		delete(o, "mac_address")
		return h.holdAlone(ctx, o)
	case !macInUse(err):
		return held{}, err
	}
	there, at, err := h.client.portOfMAC(ctx, o)
	switch {
	case err != nil:
		return held{}, err
	case there == nil:
		return held{}, provider.Errorf(provider.Conflict, "the port of %s went as it was looked for", h.ref.Name)
	case h.portIs(*there, h.ref.UID):
		got, err := h.take(*there, at, o)
		if err != nil || got.server != "" {
			return got, err
		}
		return h.alone(ctx, o, *there)
	case h.ports()[0].mac != "":
		return held{}, provider.Errorf(provider.Conflict, "MAC address %s of %s is that of port %s (%s)", o.mac(), h.ports()[0].path, there.ID, there.Name)
	}
	// The address collides with that of another machine.
	delete(o, "mac_address")
	return h.holdAlone(ctx, o)
}

// macInUse reports whether Neutron refused a port for its MAC address.
func macInUse(err error) bool {
	r, ok := errors.AsType[*refused](err)
	return ok && r.status == http.StatusConflict && r.kind == "MacAddressInUse"
}

// take decides what to do with an existing first port. One that this process has created with another
// order, as for another choice, is treated as left.
func (h holder) take(p ports.Port, at time.Time, o portOrder) (held, error) {
	server := tagged(p.Tags, tagServer)
	if server == "" {
		server = p.DeviceID
	}
	made, alike := h.provider.created.has(p.ID, o)
	switch age := at.Sub(p.CreatedAt); {
	case server != "":
		return held{port: p, server: server}, nil
	case alike:
		return held{port: p}, nil
	case made:
		return held{port: p}, errLeft
	case age < lease:
		return held{}, &provider.Error{
			Kind: provider.Conflict, After: min(lease-age, 10*time.Second),
			Err: fmt.Errorf("port %s was made %v ago by another process, which may be about to make the server", p.ID, age.Round(time.Second)),
		}
	}
	return held{port: p}, errLeft
}

// alone checks that a port is the only first port of its machine. In another network, which another choice
// may use, its MAC address does not prevent a second one.
func (h holder) alone(ctx context.Context, o portOrder, p ports.Port) (held, error) {
	all, at, err := h.firstPorts(ctx, o)
	if err != nil {
		return held{}, err
	}
	left := false
	for _, other := range all {
		if other.ID == p.ID {
			continue
		}
		there, err := h.take(other, at, o)
		switch {
		case err == nil && there.server != "":
			return there, h.release(ctx, p)
		case err != nil && !errors.Is(err, errLeft):
			return held{}, errors.Join(err, h.release(ctx, p))
		}
		if err := h.release(ctx, other); err != nil {
			return held{}, err
		}
		left = true
	}
	if left {
		if id, err := h.serverMeanwhile(ctx); err != nil || id != "" {
			return held{server: id}, errors.Join(err, h.release(ctx, p))
		}
	}
	return held{port: p}, nil
}

// release removes a port that is not to be used.
func (h holder) release(ctx context.Context, p ports.Port) error {
	if err := h.client.deletePort(ctx, p.ID); err != nil {
		return err
	}
	h.provider.created.drop(p.ID)
	return nil
}

// holdAlone is hold for networks in which Neutron does not refuse the second port.
func (h holder) holdAlone(ctx context.Context, o portOrder) (held, error) {
	before, at, err := h.firstPorts(ctx, o)
	if err != nil {
		return held{}, err
	}
	if len(before) > 0 {
		return h.take(before[0], at, o)
	}
	p, err := h.createPort(ctx, 0, o)
	if err != nil {
		return held{}, err
	}
	after, _, err := h.firstPorts(ctx, o)
	if err == nil && len(after) == 1 {
		h.provider.created.add(p.ID, o)
		return held{port: p}, nil
	}
	err = errors.Join(err, h.client.deletePort(ctx, p.ID))
	if err != nil {
		return held{}, err
	}
	return held{}, h.atTheSameTime()
}

// firstPorts are the ports of ref with the name of an order's first port, in any network.
func (h holder) firstPorts(ctx context.Context, o portOrder) (out []ports.Port, at time.Time, err error) {
	all, at, err := h.client.listPorts(ctx, portQuery{"name": {text(o["name"])}})
	for _, p := range all {
		if h.portIs(p, h.ref.UID) {
			out = append(out, p)
		}
	}
	return out, at, err
}

// furtherPorts creates the further ports, or finds existing ones.
func (h holder) furtherPorts(ctx context.Context, p parts) ([]ports.Port, error) {
	out := p.ports
	for n := 1; n < len(h.ports()); n++ {
		o, err := h.order(ctx, n, p.groups)
		if err != nil {
			return nil, err
		}
		port, err := h.furtherPort(ctx, n, o)
		if err != nil {
			return nil, err
		}
		out = append(out, port)
	}
	return out, nil
}

func (h holder) furtherPort(ctx context.Context, n int, o portOrder) (ports.Port, error) {
	if o.mac() == "" {
		there, _, err := h.firstPorts(ctx, o)
		if err != nil {
			return ports.Port{}, err
		}
		if at := slices.IndexFunc(there, func(p ports.Port) bool { return p.NetworkID == o.network() }); at >= 0 {
			return h.reuse(ctx, n, o, there[at])
		}
	}
	port, err := h.createPort(ctx, n, o)
	switch {
	case err == nil:
		h.provider.created.add(port.ID, o)
		return port, nil
	case errors.Is(err, errChosen):
		delete(o, "mac_address")
		return h.furtherPort(ctx, n, o)
	case !macInUse(err):
		return port, err
	}
	there, _, err := h.client.portOfMAC(ctx, o)
	switch {
	case err != nil:
		return port, err
	case there != nil && h.portIs(*there, h.ref.UID):
		return h.reuse(ctx, n, o, *there)
	case h.ports()[n].mac != "":
		return port, provider.Errorf(provider.Conflict, "MAC address %s of %s is in use by another port", o.mac(), h.ports()[n].path)
	}
	delete(o, "mac_address")
	return h.furtherPort(ctx, n, o)
}

// reuse takes an existing further port, unless it was created with another order, or is bound: then a new
// one replaces it. The holder of the first port is the only process that does this.
func (h holder) reuse(ctx context.Context, n int, o portOrder, p ports.Port) (ports.Port, error) {
	made, alike := h.provider.created.has(p.ID, o)
	switch v, err := h.boundTo(ctx, p); {
	case err != nil:
		return p, err
	case v != nil:
		return p, provider.Errorf(provider.Conflict, "port %s (%s) is plugged into server %s (%s): take it out there", p.ID, p.Name, v.ID, v.Name)
	case p.DeviceID == "" && (alike || !made):
		return p, nil
	}
	if err := h.release(ctx, p); err != nil {
		return p, err
	}
	return h.furtherPort(ctx, n, o)
}

// boundTo returns the server that a port is bound to; nil if it does not exist, whatever the port says:
// Neutron may have been unreachable when the server was deleted.
func (c call) boundTo(ctx context.Context, p ports.Port) (*servers.Server, error) {
	if p.DeviceID == "" {
		return nil, nil //nolint:nilnil // No server has it.
	}
	v, err := get(ctx, c.client, p.DeviceID)
	if err != nil {
		return nil, fmt.Errorf("look whether a server has port %s: %w", p.ID, err)
	}
	if v != nil && isTerminated(*v) {
		v = nil
	}
	return v, nil
}
