package cloud

import "github.com/millwright-dev/millwright/provider"

// Classify, Blame and FaultOf are how answers are read.
func Classify(err error) error { return classify(err) }

// Blame is what an answer to a request for a server becomes.
func Blame(api string, err error) error {
	return plan{paths: map[string]map[string]string{provider.OpenShift: openshiftPaths, provider.Gardener: gardenerPaths}[api]}.blame(err)
}

// FaultOf is what a server in ERROR becomes.
func FaultOf(message string) *provider.Error { return faultOf(message) }

// Lease is how long a port without a server is taken for one that is about to have one.
const Lease = lease
