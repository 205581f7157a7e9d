package ports

import "sync"

// kept are the claims that last as long as this process: a program may be started again on its port.
var kept struct {
	sync.Mutex
	Claims
}

// Free returns a port of 127.0.0.1 that nobody listens on. Nobody who asks here is given it again while this process runs.
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
