// Package approval decides whether a kubelet's certificate request is granted.
//
// [Decide] is a chain of named checks; the first that objects says why. A
// request is approved only when it comes from a machine that is known, for the
// name under which that machine may join and the addresses it was given. It is
// never denied: a request that cannot be granted yet may be later, and other
// approvers may know other rules.
package approval

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Machine is what the approver needs to know about a machine.
type Machine struct {
	Namespace, Name string
	// NodeName is the node recorded for the machine, or the name under which
	// the infrastructure foretells that it will register.
	NodeName string
	// Linked says that the machine's node has joined.
	Linked bool
	// Created is the object's creation time.
	Created time.Time
	// Addresses are those that the infrastructure reports for the instance.
	// Names in certificates are checked against the Hostname and DNS entries,
	// so an infrastructure that foretells the node name has to report it as
	// Hostname, too.
	Addresses  []corev1.NodeAddress
	ProviderID string
	// Ref is the API object, for events; may be empty.
	Ref corev1.ObjectReference
}

// Key is "namespace/name".
func (m Machine) Key() string { return m.Namespace + "/" + m.Name }
