package devplane

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
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

// PortBusyError says that another program has a port that the control plane needs.
type PortBusyError struct {
	Component string
	Port      int
	// Remembered: the port was not requested now, but used at the last start in the same folder, so that kubeconfigs name
	// it.
	Remembered bool
}

func (e *PortBusyError) Error() string {
	why := "it was requested"
	if e.Remembered {
		why = "kubeconfigs of the last start name it"
	}
	return fmt.Sprintf("port 127.0.0.1:%d for %s is in use by another program (%s): stop that program or choose another port",
		e.Port, e.Component, why)
}

// choosePorts chooses the port of every component: the requested one, else the one used before, else a free one. Only the API
// server must keep its port of before, because kubeconfigs of nodes and users name it. The caller releases the claims when the
// components listen.
func choosePorts(components []string, asked, before Ports) (Ports, *ports.Claims, error) {
	var chosen Ports
	c := &ports.Claims{}
	for _, component := range components {
		port, err := choosePort(c, component, *asked.portOf(component), *before.portOf(component))
		if err != nil {
			c.Release()
			return Ports{}, nil, err
		}
		*chosen.portOf(component) = port
	}
	return chosen, c, nil
}

func choosePort(c *ports.Claims, component string, asked, before int) (int, error) {
	if asked != 0 {
		return asked, insist(c, component, asked, false)
	}
	if before != 0 && component == APIServer {
		return before, insist(c, component, before, true)
	}
	if before != 0 && c.Take(before) == nil {
		return before, nil
	}
	port, err := c.TakeAny()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", component, err)
	}
	return port, nil
}

// insist takes a port that cannot be replaced by another.
func insist(c *ports.Claims, component string, port int, remembered bool) error {
	err := c.Take(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortBusyError{Component: component, Port: port, Remembered: remembered}
	}
	if err != nil {
		return fmt.Errorf("listening on port %d for %s: %w", port, component, err)
	}
	return nil
}
