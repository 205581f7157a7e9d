package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/millwright-dev/millwright/provider"
)

// conn is a connection to the libvirt of a host. It connects on the first call, and again after the
// connection is lost.
type conn struct {
	uri *url.URL
	// turn is held during a dial. It is a channel, so that callers can stop waiting for it.
	turn chan struct{}
	// reserve is held while a free address is chosen and reserved.
	reserve sync.Mutex

	mu     sync.Mutex
	client *libvirt.Libvirt // nil: not connected
	wire   *wire            // the client's connection
	traits *traits          // nil: not read
}

func newConn(uri string) (*conn, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, provider.InvalidField("uri", "%w", err)
	}
	return &conn{uri: u, turn: make(chan struct{}, 1)}, nil
}

// ask makes one call, and returns when it is answered or ctx ends. Calls of the library take no context: if
// the deadline passes, ask cuts the connection, which also ends all other calls on it.
func ask[T any](ctx context.Context, c *conn, call func(*libvirt.Libvirt) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	client, err := c.connected(ctx)
	if err != nil {
		return none, err
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := call(client)
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, classify(a.err)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.drop(client)
		}
		return none, fmt.Errorf("libvirt at %s does not answer: %w", c.uri.Redacted(), ctx.Err())
	}
}

// do is ask for a call without a result.
func do(ctx context.Context, c *conn, call func(*libvirt.Libvirt) error) error {
	_, err := ask(ctx, c, func(l *libvirt.Libvirt) (struct{}, error) { return struct{}{}, call(l) })
	return err
}

// connected returns the client, and connects if necessary.
func (c *conn) connected(ctx context.Context) (*libvirt.Libvirt, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to libvirt at %s: %w", c.uri.Redacted(), ctx.Err())
	}
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil && client.IsConnected() {
		return client, nil
	}
	return c.dial(ctx)
}

func (c *conn) dial(ctx context.Context) (*libvirt.Libvirt, error) {
	dialer, err := dialerFor(c.uri)
	if err != nil {
		return nil, provider.InvalidField("uri", "%w", err)
	}
	w := &wire{dialer: dialer}
	client := libvirt.NewWithDialer(w)
	done := make(chan error, 1)
	go func() { done <- client.ConnectToURI(libvirt.RemoteURI(c.uri)) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		w.cut()
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("connect to libvirt at %s: %w", c.uri.Redacted(), classify(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client, c.wire = client, w
	return client, nil
}

// drop cuts the connection of a client, unless the connection has been replaced.
func (c *conn) drop(client *libvirt.Libvirt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == client {
		c.wire.cut()
		c.client, c.wire = nil, nil
	}
}

// hangUp cuts the current connection.
func (c *conn) hangUp() {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil {
		c.drop(client)
	}
}

// traits are the properties of a host, read once.
type traits struct {
	// account is stable, and the same for all users.
	account string
	// arch is libvirt's name of the host's architecture, kind the type of its domains: "kvm", "qemu", "test".
	arch, kind, osType string
}

func (c *conn) traitsOf(ctx context.Context) (*traits, error) {
	c.mu.Lock()
	t := c.traits
	c.mu.Unlock()
	if t != nil {
		return t, nil
	}
	raw, err := ask(ctx, c, (*libvirt.Libvirt).ConnectGetCapabilities)
	if err != nil {
		return nil, fmt.Errorf("read the host's capabilities: %w", err)
	}
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("read the host's capabilities: %w", err)
	}
	t = newTraits(&caps)
	id := caps.Host.UUID
	if id == "" { // a driver without a host
		if id, err = ask(ctx, c, (*libvirt.Libvirt).ConnectGetHostname); err != nil {
			return nil, fmt.Errorf("read the host's name: %w", err)
		}
	}
	t.account = string(libvirt.RemoteURI(c.uri)) + "@" + id
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traits = t
	return t, nil
}

// rank orders the types of domains: hardware before software.
var rank = map[string]int{"kvm": 3, "hvf": 2, "qemu": 1}

// newTraits finds how the host runs guests of its own architecture, or else its first supported way.
func newTraits(caps *libvirtxml.Caps) *traits {
	t := &traits{}
	if caps.Host.CPU != nil {
		t.arch = caps.Host.CPU.Arch
	}
	best := -1
	for _, g := range caps.Guests {
		for _, d := range g.Arch.Domains {
			own := 0
			if g.Arch.Name == t.arch {
				own = 10
			}
			if r := own + rank[d.Type]; r > best {
				best, t.kind, t.osType = r, d.Type, g.OSType
			}
		}
	}
	return t
}
