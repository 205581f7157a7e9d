package devplane

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"syscall"
)

// Free ports are chosen below those of hollow nodes (20000 and up) and of outgoing connections (on Linux 32768 and up),
// so that the API server finds its port free again when it is started the next time.
const (
	firstPort = 10000
	lastPort  = 19999
)

// portOf points to the port of a component.
func (p *Ports) portOf(component string) *int {
	switch component {
	case Etcd:
		return &p.Etcd
	case APIServer:
		return &p.APIServer
	case ControllerManager:
		return &p.ControllerManager
	case Scheduler:
		return &p.Scheduler
	default:
		return &p.Kwok
	}
}

// PortBusyError says that another program has a port that the control plane must have.
type PortBusyError struct {
	Component string
	Port      int
	// Remembered is true when the port was not asked for now but used at the last start in the same folder, so that
	// kubeconfigs name it.
	Remembered bool
}

func (e *PortBusyError) Error() string {
	why := "it was asked for"
	if e.Remembered {
		why = "kubeconfigs made at the last start name it"
	}
	return fmt.Sprintf("port 127.0.0.1:%d for %s is in use by another program (%s): stop that program or choose another port",
		e.Port, e.Component, why)
}

// claims keep other starts on this machine from choosing the same ports until the components listen on them.
type claims struct {
	taken   map[int]bool
	sockets []net.Listener
}

// choosePorts settles the port of every component: the one asked for, else the one used before, else a free one. Only
// the API server is bound to the one used before: kubeconfigs of nodes and people name it. The caller releases the
// claims once the components listen.
func choosePorts(components []string, asked, before Ports) (Ports, *claims, error) {
	var chosen Ports
	c := &claims{taken: map[int]bool{}}
	for _, component := range components {
		port, err := c.choose(component, *asked.portOf(component), *before.portOf(component))
		if err != nil {
			c.release()
			return Ports{}, nil, err
		}
		*chosen.portOf(component) = port
	}
	return chosen, c, nil
}

func (c *claims) choose(component string, asked, before int) (int, error) {
	if asked != 0 {
		return asked, c.insist(component, asked, false)
	}
	if before != 0 && component == APIServer {
		return before, c.insist(component, before, true)
	}
	if before != 0 && c.take(before) == nil {
		return before, nil
	}
	count := lastPort - firstPort + 1
	start := rand.IntN(count)
	for i := range count {
		port := firstPort + (start+i)%count
		if c.take(port) == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port for %s between %d and %d", component, firstPort, lastPort)
}

// insist takes a port for which no other will do.
func (c *claims) insist(component string, port int, remembered bool) error {
	err := c.take(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortBusyError{Component: component, Port: port, Remembered: remembered}
	}
	if err != nil {
		return fmt.Errorf("listening on port %d for %s: %w", port, component, err)
	}
	return nil
}

// take claims a port that nobody listens on. Between processes a claim is an abstract socket, which ends with its
// process and leaves no file; systems other than Linux have none, and there two starts at once may collide.
func (c *claims) take(port int) error {
	if c.taken[port] {
		return syscall.EADDRINUSE
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	if err := listener.Close(); err != nil {
		return err
	}
	if runtime.GOOS == "linux" {
		socket, err := net.Listen("unix", "@millwright-box-port-"+strconv.Itoa(port))
		if err != nil {
			return err
		}
		c.sockets = append(c.sockets, socket)
	}
	c.taken[port] = true
	return nil
}

func (c *claims) release() {
	for _, socket := range c.sockets {
		socket.Close()
	}
}
