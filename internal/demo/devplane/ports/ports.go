// Package ports chooses ports of loopback for programs that are about to start. Such a port must stay free from the moment it is chosen
// until the program listens on it. A port that the kernel chose does not: the next connection of any process may get it.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"syscall"
)

// Ports are chosen below those of hollow nodes (20000 and up) and of outgoing connections (on Linux 32768 and up), so that a program finds
// its port free again when it is started the next time.
const (
	first = 10000
	last  = 19999
)

// Claims keep other processes of this machine that choose ports here from choosing the same ones. The zero value has none. Not safe for
// concurrent use.
type Claims struct {
	taken   map[int]bool
	sockets []net.Listener
}

// Take claims a port of 127.0.0.1. The error is [syscall.EADDRINUSE] if a process listens on it or has claimed it.
//
// Between processes a claim is an abstract socket, which ends with its process and leaves no file; systems other than Linux have none, and
// there two starts at once may collide.
func (c *Claims) Take(port int) error {
	if c.taken[port] {
		return syscall.EADDRINUSE
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	if err := listener.Close(); err != nil {
		return err
	}
	if runtime.GOOS == "linux" {
		socket, err := net.Listen("unix", "@millwright-port-"+strconv.Itoa(port))
		if err != nil {
			return err
		}
		c.sockets = append(c.sockets, socket)
	}
	if c.taken == nil {
		c.taken = map[int]bool{}
	}
	c.taken[port] = true
	return nil
}

// TakeAny claims a port of 127.0.0.1 that is free.
func (c *Claims) TakeAny() (int, error) {
	count := last - first + 1
	start := rand.IntN(count)
	for i := range count {
		port := first + (start+i)%count
		if c.Take(port) == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d", first, last)
}

// Release gives the claims up, which the programs that listen on the ports need no more.
func (c *Claims) Release() {
	for _, socket := range c.sockets {
		socket.Close()
	}
	*c = Claims{}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
