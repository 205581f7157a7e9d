package cloud

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/user"
	"strings"
	"sync"

	"github.com/digitalocean/go-libvirt/socket"
	"github.com/digitalocean/go-libvirt/socket/dialers"
)

// wire holds the connection of a client, so that it can be cut: the library's own disconnect waits for a
// reply.
type wire struct {
	dialer socket.Dialer

	mu   sync.Mutex
	conn net.Conn
	over bool
}

// Dial implements [socket.Dialer].
func (w *wire) Dial() (net.Conn, error) {
	conn, err := w.dialer.Dial()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return nil, errors.Join(errors.New("the caller has stopped waiting for the connection"), conn.Close())
	}
	w.conn = conn
	return conn, nil
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.conn != nil {
		_ = w.conn.Close() // a reader gets an error
	}
}

// dialerFor returns a dialer for the URI and its parameters, as libvirt's own clients interpret them.
func dialerFor(uri *url.URL) (socket.Dialer, error) {
	_, transport, _ := strings.Cut(uri.Scheme, "+")
	query := uri.Query()
	switch {
	case transport == "unix", transport == "" && uri.Host == "":
		var options []dialers.LocalOption
		if s := query.Get("socket"); s != "" {
			options = append(options, dialers.WithSocket(s))
		}
		return dialers.NewLocal(options...), nil
	case transport == "tcp":
		var options []dialers.RemoteOption
		if p := uri.Port(); p != "" {
			options = append(options, dialers.UsePort(p))
		}
		return dialers.NewRemote(uri.Hostname(), options...), nil
	case transport == "tls", transport == "":
		var options []dialers.TLSOption
		if p := uri.Port(); p != "" {
			options = append(options, dialers.UseTLSPort(p))
		}
		if dir := query.Get("pkipath"); dir != "" {
			options = append(options, dialers.UsePKIPath(dir))
		}
		if query.Get("no_verify") == "1" {
			options = append(options, dialers.WithInsecureNoVerify())
		}
		return dialers.NewTLS(uri.Hostname(), options...), nil
	}
	return sshDialer(uri)
}

// sshDialer reads the key from a file, as the original does: it is mounted into the controller's pod.
func sshDialer(uri *url.URL) (socket.Dialer, error) {
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("look up the user of the SSH keys: %w", err)
	}
	query := uri.Query()
	options := []dialers.SSHOption{dialers.WithSystemSSHDefaults(me)}
	for _, o := range []struct {
		value  string
		option func(string) dialers.SSHOption
	}{
		{uri.Port(), dialers.UseSSHPort},
		{uri.User.Username(), dialers.UseSSHUsername},
		{query.Get("keyfile"), dialers.UseKeyFile},
		{query.Get("socket"), dialers.WithRemoteSocket},
		{query.Get("known_hosts"), dialers.UseKnownHostsFile},
	} {
		if o.value != "" {
			options = append(options, o.option(o.value))
		}
	}
	if query.Get("no_verify") == "1" || query.Get("known_hosts_verify") == "ignore" {
		options = append(options, dialers.WithInsecureIgnoreHostKey())
	}
	return dialers.NewSSH(uri.Hostname(), options...), nil
}
