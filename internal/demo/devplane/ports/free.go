package ports

import "sync"

// kept are claims that last as long as this process, because a program may start again on its port.
var kept struct {
	sync.Mutex
	Claims
}

// Free returns a free port of 127.0.0.1. It returns each port once while this process runs.
func Free() (int, error) {
	kept.Lock()
	defer kept.Unlock()
	return kept.TakeAny()
}

// FreeAddress returns 127.0.0.1 with a port as [Free] returns it.
func FreeAddress() (string, error) {
	port, err := Free()
	if err != nil {
		return "", err
	}
	return address(port), nil
}
