package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// The first port of a machine keeps it from a second server. Whoever makes it may ask Nova for the server; whoever finds it made looks
// for the server that it was made for. Neutron gives a MAC address out once in a network, so that of two who make the same port at the
// same time one is refused. Where MAC addresses may not be chosen (in networks of other projects, by default), whoever makes a port and
// sees another one of the machine removes its own again: then at most one goes on, and perhaps none at first.
//
// A port without a server was left by a process that ended, or belongs to one that is about to ask for it. Within the lease the latter
// is assumed. After it the port is removed, servers are looked for once more, and it is made anew: a request for a server with the old
// one, however late, is refused by Nova.

// lease is how long after its port was made a server is still expected from another process.
const lease = time.Minute

// errChosen says that MAC addresses may not be chosen in a network.
var errChosen = errors.New("MAC addresses may not be chosen in this network")

// memory is which ports this process has made and not used yet.
type memory struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

// mostRemembered bounds it: forgetting costs a wait for the lease.
const mostRemembered = 10_000

func newMemory() *memory { return &memory{ids: map[string]struct{}{}} }

func (m *memory) add(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ids) >= mostRemembered {
		clear(m.ids)
	}
	m.ids[id] = struct{}{}
}

func (m *memory) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.ids[id]
	return ok
}

func (m *memory) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ids, id)
}

// holder makes the ports of one machine, of which the first one holds the place of its server.
type holder struct {
	errand
	ref provider.Ref
}

// held is what came of asking for the first port: the port, or the ID of the server that has it.
type held struct {
	port   ports.Port
	server string
}

// hold makes the first port of ref, or finds what was made before.
func (h holder) hold(ctx context.Context, groups []string) (held, error) {
	o, err := h.order(ctx, 0, groups)
	if err != nil {
		return held{}, err
	}
	got, err := h.tryHold(ctx, o)
	if !errors.Is(err, errLeft) {
		return got, err
	}
	if err := h.c.removePort(ctx, got.port.ID); err != nil {
		return held{}, err
	}
	found, err := h.find(ctx, h.ref)
	switch {
	case err != nil:
		return held{}, err
	case len(found) > 0:
		return held{server: found[0].ID}, nil
	}
	got, err = h.tryHold(ctx, o)
	if errors.Is(err, errLeft) {
		err = provider.Errorf(provider.Conflict, "another process makes a port for %s at the same time", h.ref.Name)
	}
	return got, err
}

// errLeft says that a port was left without a server.
var errLeft = errors.New("the port was left without a server")

func (h holder) tryHold(ctx context.Context, o portOrder) (held, error) {
	if o.mac() == "" {
		return h.holdAlone(ctx, o)
	}
	p, err := h.makePort(ctx, 0, o)
	switch {
	case err == nil:
		h.provider.made.add(p.ID)
		return held{port: p}, nil
	case errors.Is(err, errChosen):
		delete(o, "mac_address")
		return h.holdAlone(ctx, o)
	case !macInUse(err):
		return held{}, err
	}
	there, at, err := h.c.portOfMAC(ctx, o)
	switch {
	case err != nil:
		return held{}, err
	case there == nil:
		return held{}, provider.Errorf(provider.Conflict, "the port of %s went as it was looked for", h.ref.Name)
	case h.portIs(*there, h.ref.UID):
		return h.take(*there, at)
	case h.ports()[0].mac != "":
		return held{}, provider.Errorf(provider.Conflict, "MAC address %s of %s is that of port %s (%s)", o.mac(), h.ports()[0].path, there.ID, there.Name)
	}
	// The address is another's by chance.
	delete(o, "mac_address")
	return h.holdAlone(ctx, o)
}

// macInUse reports whether Neutron refused a port for its MAC address.
func macInUse(err error) bool {
	r, ok := errors.AsType[*refused](err)
	return ok && r.status == http.StatusConflict && r.kind == "MacAddressInUse"
}

// take is what to do with the first port, which is there already.
func (h holder) take(p ports.Port, at time.Time) (held, error) {
	server := tagged(p.Tags, tagServer)
	if server == "" {
		server = p.DeviceID
	}
	switch age := at.Sub(p.CreatedAt); {
	case server != "":
		return held{port: p, server: server}, nil
	case h.provider.made.has(p.ID):
		return held{port: p}, nil
	case age < lease:
		return held{}, &provider.Error{
			Kind: provider.Conflict, After: min(lease-age, 10*time.Second),
			Err: fmt.Errorf("port %s was made %v ago by another process, which may be about to make the server", p.ID, age.Round(time.Second)),
		}
	}
	return held{port: p}, errLeft
}

// holdAlone is hold where Neutron does not keep two apart.
func (h holder) holdAlone(ctx context.Context, o portOrder) (held, error) {
	before, at, err := h.firstPorts(ctx, o)
	if err != nil {
		return held{}, err
	}
	if len(before) > 0 {
		return h.take(before[0], at)
	}
	p, err := h.makePort(ctx, 0, o)
	if err != nil {
		return held{}, err
	}
	after, _, err := h.firstPorts(ctx, o)
	if err == nil && len(after) == 1 {
		h.provider.made.add(p.ID)
		return held{port: p}, nil
	}
	err = errors.Join(err, h.c.removePort(ctx, p.ID))
	if err != nil {
		return held{}, err
	}
	return held{}, provider.Errorf(provider.Conflict, "another process makes a port for %s at the same time", h.ref.Name)
}

// firstPorts are the ports of ref that are called as the first one.
func (h holder) firstPorts(ctx context.Context, o portOrder) (out []ports.Port, at time.Time, err error) {
	all, at, err := h.c.listPorts(ctx, portQuery{"name": {text(o["name"])}, "network_id": {o.network()}})
	for _, p := range all {
		if h.portIs(p, h.ref.UID) {
			out = append(out, p)
		}
	}
	return out, at, err
}

// furtherPorts makes those behind the first, or finds them.
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
		if err != nil || len(there) > 0 {
			return firstOf(there), err
		}
	}
	port, err := h.makePort(ctx, n, o)
	switch {
	case errors.Is(err, errChosen):
		delete(o, "mac_address")
		return h.furtherPort(ctx, n, o)
	case !macInUse(err):
		return port, err
	}
	there, _, err := h.c.portOfMAC(ctx, o)
	switch {
	case err != nil:
		return port, err
	case there != nil && h.portIs(*there, h.ref.UID):
		return *there, nil
	case h.ports()[n].mac != "":
		return port, provider.Errorf(provider.Conflict, "MAC address %s of %s is in use by another port", o.mac(), h.ports()[n].path)
	}
	delete(o, "mac_address")
	return h.furtherPort(ctx, n, o)
}

func firstOf(all []ports.Port) (p ports.Port) {
	if len(all) > 0 {
		p = all[0]
	}
	return p
}
