package provider

import (
	"context"
	"errors"
)

// ErrNoObject says that an object does not exist.
var ErrNoObject = errors.New("it does not exist")

// ObjectRef names an object of the control cluster, the one that holds the machines:
// the ConfigMap with a CA bundle, a secret, the Infrastructure called "cluster".
type ObjectRef struct {
	// APIVersion is "v1" or "group/version".
	APIVersion, Kind string
	// Namespace is empty for objects of no namespace.
	Namespace, Name string
}

// Objects reads what the infrastructure has to be opened with and neither the
// provider spec nor the credentials say. A provider gets it with its environment,
// and reads in [Provider].Open each time: what was read lately is not read again.
//
// What is read makes part of the key of the client ([KeyOf]), so that a client is
// made anew when it changes, and of what the session says of itself ([Traits].Source).
type Objects interface {
	// Object returns the object as JSON, shared: not to be changed. That it
	// is not there is [ErrNoObject], which the caller may put up with; that it may not
	// be read is [Denied].
	Object(ctx context.Context, ref ObjectRef) ([]byte, error)
}

// Keeper is [Objects] that also keeps something there for a machine: the claim of an
// address.
type Keeper interface {
	// Keep makes the object, if there is none of its name. It is JSON with its
	// apiVersion, kind and name, and names its machine as an owner. A kind that the
	// cluster does not serve is [ErrNoObject], a missing right [Denied].
	Keep(ctx context.Context, object []byte) error
	// Release takes the finalizer off the object and deletes it, if the machine is one
	// of its owners: what others made stays. It is done where there is nothing.
	Release(ctx context.Context, ref ObjectRef, machine, finalizer string) error
}
