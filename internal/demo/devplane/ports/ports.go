// Package ports chooses ports of loopback for programs that will start soon. Such a port must stay free until the program listens
// on it. A port that the kernel chooses does not stay free: the next connection of any process may get it.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"syscall"
)

// Ports are chosen below those of hollow nodes (20000 and up) and of outgoing connections (on Linux 32768 and up), so that a
// program's port is still free when the program starts again.
const (
	first = 10000
	last  = 19999
)

// Claims keep other processes of this machine that also use this package from choosing the same ports. The zero value has no
// claims. Not safe for concurrent use.
type Claims struct {
	taken   map[int]bool
	sockets []net.Listener
}

// Take claims a port of 127.0.0.1. The error is [syscall.EADDRINUSE] if a process listens on it or has claimed it.
//
// A claim is an abstract socket, which ends with its process and leaves no file. Systems other than Linux have no such sockets:
// there two concurrent starts may choose the same port.
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

// TakeAny claims a free port of 127.0.0.1.
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

// Release releases the claims. The programs that listen on the ports do not need them any more.
func (c *Claims) Release() {
	for _, socket := range c.sockets {
		socket.Close()
	}
	*c = Claims{}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
