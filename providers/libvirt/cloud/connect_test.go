package cloud_test

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/digitalocean/go-libvirt"
)

// connect is a connection of another client to a host.
func connect(t testing.TB, uri string) *libvirt.Libvirt {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	l, err := libvirt.ConnectToURI(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Disconnect() })
	return l
}

var planted atomic.Uint32

// nextUUID returns a UUID that no other domain has.
func nextUUID() string {
	n := planted.Add(1)
	return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n)
}
