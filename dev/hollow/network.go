package hollow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
)

// The kubelet needs a fixed port (0 is refused) and ends if it is in use, so a free one is chosen here, below
// the range of Linux's ephemeral ports (32768 and up).
const (
	firstPort = 20000
	lastPort  = 32767
)

// choosePort returns a free port on address. It reserves the port, so that other hollow nodes of this machine
// do not choose it in the second until the kubelet listens on it; with 100 nodes starting at once and 12,768
// ports to choose from, that would happen in one of three starts.
func choosePort(address string) (int32, error) {
	count := lastPort - firstPort + 1
	start := rand.IntN(count)
	for i := range count {
		port := firstPort + (start+i)%count
		if claimPort(port) && portIsFree(address, port) {
			return int32(port), nil
		}
	}
	return 0, fmt.Errorf("no free port on %s between %d and %d", address, firstPort, lastPort)
}

// claimPort takes a machine-wide claim that ends with the process. Abstract sockets, which leave no file,
// exist on Linux only; elsewhere the claim is always granted.
func claimPort(port int) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	listener, err := net.Listen("unix", "@millwright-hollow-port-"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	claims = append(claims, listener)
	return true
}

// claims keeps the listeners open for the life of the process: the garbage collector would close them.
var claims []net.Listener

func portIsFree(address string, port int) bool {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// chooseNodeIP returns an address of this machine that the kubelet accepts as a node's: global unicast, IPv4 first.
// Without one it returns "" and the node registers with no address.
func chooseNodeIP() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	fallback := ""
	for _, address := range addresses {
		network, ok := address.(*net.IPNet)
		if !ok || !network.IP.IsGlobalUnicast() {
			continue
		}
		if network.IP.To4() != nil {
			return network.IP.String()
		}
		if fallback == "" {
			fallback = network.IP.String()
		}
	}
	return fallback
}

// refuseNameServers makes every DNS query fail at once. A kubelet without a node IP looks its own name up
// with each status report, which takes 10 s if no server answers. /etc/hosts is still used.
func refuseNameServers() {
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("a hollow node asks no name server")
		},
	}
}
