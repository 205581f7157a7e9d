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

// conn is a host's libvirt. Its connection is made when it is asked for something, and made again when it was lost.
type conn struct {
	uri *url.URL
	// turn is held by whoever dials. It is a channel, because whoever waits for it may stop waiting.
	turn chan struct{}
	// reserve is held by whoever looks for a free address and takes it.
	reserve sync.Mutex

	mu     sync.Mutex
	client *libvirt.Libvirt // nil: there is none
	wire   *wire            // of the client
	traits *traits          // nil: not read
}

func newConn(uri string) (*conn, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, provider.InvalidField("uri", "%w", err)
	}
	return &conn{uri: u, turn: make(chan struct{}, 1)}, nil
}

// ask makes one call, and returns when it is answered or ctx ends. A call of the library has no context: one that is not answered in time
// takes its connection with it, which ends whatever else waits for an answer on it.
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

// do is ask for a call that answers nothing.
func do(ctx context.Context, c *conn, call func(*libvirt.Libvirt) error) error {
	_, err := ask(ctx, c, func(l *libvirt.Libvirt) (struct{}, error) { return struct{}{}, call(l) })
	return err
}

// connected returns the client, which it makes if there is none that is connected.
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

// drop cuts the connection of a client, unless there is another by now.
func (c *conn) drop(client *libvirt.Libvirt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == client {
		c.wire.cut()
		c.client, c.wire = nil, nil
	}
}

// hangUp ends the connection, if there is one.
func (c *conn) hangUp() {
	c.mu.Lock()
	client := c.client
	c.mu.Unlock()
	if client != nil {
		c.drop(client)
	}
}

// traits are what a host says of itself, once.
type traits struct {
	// account is the same for whoever asks, and at all times.
	account string
	// arch is libvirt's name of the host's own architecture, kind the type of domain to run it with: "kvm", "qemu", "test".
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
		return nil, fmt.Errorf("read what the host can do: %w", err)
	}
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(raw); err != nil {
		return nil, fmt.Errorf("read what the host can do: %w", err)
	}
	t = newTraits(&caps)
	id := caps.Host.UUID
	if id == "" { // a driver without a host
		if id, err = ask(ctx, c, (*libvirt.Libvirt).ConnectGetHostname); err != nil {
			return nil, fmt.Errorf("ask for the host's name: %w", err)
		}
	}
	t.account = string(libvirt.RemoteURI(c.uri)) + "@" + id
	c.mu.Lock()
	defer c.mu.Unlock()
	c.traits = t
	return t, nil
}

// rank says which type of domain is preferred: hardware before software.
var rank = map[string]int{"kvm": 3, "hvf": 2, "qemu": 1}

// newTraits looks for how the host runs guests of its own architecture, and takes the first of what it can do if there is no such way.
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
