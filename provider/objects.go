package provider

import (
	"context"
	"errors"
)

// ErrNoObject says that an object does not exist.
var ErrNoObject = errors.New("it does not exist")

// ObjectRef names an object of the control cluster, which holds the machines: the ConfigMap with a CA
// bundle, a secret, the Infrastructure called "cluster".
type ObjectRef struct {
	// APIVersion is "v1" or "group/version".
	APIVersion, Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace, Name string
}

// Objects reads the objects that a provider needs to open a class beside the provider spec and the
// credentials. A provider gets it with its environment and reads in each [Provider].Open: recent results
// come from a cache.
//
// The result is part of the client's key ([KeyOf]), so that a change gives a new client, and of the
// session's [Traits].Source.
type Objects interface {
	// Object returns the object as JSON, shared: do not change it. If the object does not exist, the error
	// is [ErrNoObject], which the caller may ignore; if it must not be read, [Denied].
	Object(ctx context.Context, ref ObjectRef) ([]byte, error)
}

// ObjectStore is [Objects] that also stores an object for a machine: the claim of an address.
type ObjectStore interface {
	// Keep creates the object, unless one of its name exists. The object is JSON with its apiVersion, kind
	// and name, and has its machine as an owner. If the cluster does not serve the kind, the error is
	// [ErrNoObject]; if a permission is missing, [Denied].
	Keep(ctx context.Context, object []byte) error
	// Release removes the finalizer from the object and deletes it, if the machine is one of its owners: it
	// keeps the objects of others. If the object does not exist, it succeeds.
	Release(ctx context.Context, ref ObjectRef, machine, finalizer string) error
}
