package cloud

import "github.com/millwright-dev/millwright/provider"

// Classify, Blame and FaultOf export how answers are read.
func Classify(err error) error { return classify(err) }

// Blame returns the error for an answer to a request for a server.
func Blame(api string, err error) error {
	return plan{paths: map[string]map[string]string{provider.OpenShift: openshiftPaths, provider.Gardener: gardenerPaths}[api]}.blame(err)
}

// FaultOf returns the fault of a server in ERROR.
func FaultOf(message string) *provider.Error { return faultOf(message) }

// Lease is how long a port without a server is expected to get one.
const Lease = lease
