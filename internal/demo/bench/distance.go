package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// relay passes on bytes, each after a delay, like a long network.
type relay struct {
	to    string
	delay time.Duration
	net.Listener
}

// startRelay relays connections to an address until the context ends.
func startRelay(ctx context.Context, to string, delay time.Duration) (*relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a distance: %w", err)
	}
	r := &relay{to: to, delay: delay, Listener: listener}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go r.serve(ctx)
	return r, nil
}

func (r *relay) serve(ctx context.Context) {
	for {
		near, err := r.Accept()
		if err != nil {
			return // the listener is closed
		}
		go r.connect(ctx, near)
	}
}

// connect relays one connection in both directions. When one direction ends, the connection ends.
func (r *relay) connect(ctx context.Context, near net.Conn) {
	defer near.Close()
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.to)
	if err != nil {
		return
	}
	defer far.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			delayed(way[1], way[0], r.delay)
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// parcel is the bytes of one read.
type parcel struct {
	due   time.Time
	bytes []byte
}

// delayed copies from one connection to another until either ends. Parcels of 32 KiB each bound the bytes in flight.
func delayed(to io.Writer, from io.Reader, delay time.Duration) {
	const size, underWay = 32 << 10, 4096
	parcels, broken := make(chan parcel, underWay), make(chan struct{})
	go func() {
		defer close(broken)
		for p := range parcels {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				return
			}
		}
	}()
	defer func() { close(parcels); <-broken }()
	for buffer := make([]byte, size); ; {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case parcels <- parcel{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)}:
			case <-broken:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// moveAway puts a distance between the API server and the measured clients: the raw client and the controllers. Clients that only observe stay near.
func (p *plane) moveAway(ctx context.Context, distance time.Duration) error {
	if distance == 0 {
		return nil
	}
	near, err := p.Plane.RESTConfig()
	if err != nil {
		return err
	}
	server, err := url.Parse(near.Host)
	if err != nil {
		return fmt.Errorf("the address of the API server: %w", err)
	}
	r, err := startRelay(ctx, server.Host, distance/2)
	if err != nil {
		return err
	}
	far := "https://" + r.Addr().String()
	if p.raw, err = rawClient(near, far); err != nil {
		return err
	}
	for _, program := range programs {
		if err := pointTo(p.Kubeconfig(program), far); err != nil {
			return err
		}
	}
	return nil
}

// pointTo replaces the server in a kubeconfig file.
func pointTo(file, server string) error {
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server
	}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.WriteFile(file, raw, 0o600)
}
