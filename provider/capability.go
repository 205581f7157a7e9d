package provider

import (
	"context"
	"encoding/json"
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Wrapper is a decorator of providers or sessions: it names what it decorates.
type Wrapper interface{ Unwrap() any }

// As finds the optional interface T on v or on what v decorates. A decorator
// that has a part in calls of an optional interface without having it itself
// says so by a method
//
//	As(target any) bool
//
// which sets *target, a pointer to an interface, and reports whether it did:
// so it stands in front of just those powers that the decorated value has.
func As[T any](v any) (T, bool) {
	var t T
	for v != nil {
		if own, ok := v.(T); ok {
			return own, true
		}
		if d, ok := v.(interface{ As(target any) bool }); ok && d.As(&t) {
			return t, true
		}
		w, ok := v.(Wrapper)
		if !ok {
			break
		}
		v = w.Unwrap()
	}
	var none T
	return none, false
}

// Initializer is a Session whose instances need a step after creation
// (Instance.Uninitialized). It may be repeated. It is asked for of instances that are
// not Pending: where one is made switched off, it is Stopped, and the step starts it.
type Initializer interface {
	Initialize(ctx context.Context, ref Ref, i Instance) error
}

// Maintainer is a Session that keeps what belongs to an instance while it lives as the
// class says: tags that somebody took away, the membership of load balancers.
type Maintainer interface {
	// Unkept reports whether something may differ: by what i shows, or because i does not
	// show it. No call is made for it.
	Unkept(ref Ref, i Instance) bool
	// Maintain mends what differs. It is called when the instance runs for the first
	// time, and now and then from then on, while it is Unkept; it may be repeated, ends
	// nothing and restarts nothing. That it fails is told to people, and harms the
	// machine in no way.
	Maintain(ctx context.Context, ref Ref, i Instance) error
}

// SecretRef names a secret; an empty namespace is the machine's own.
type SecretRef struct{ Namespace, Name string }

// SpecReader is a Provider that reads from a spec what is needed before it is opened. For
// others, secrets are read from the fields that the specs of all infrastructures share
// ([ReadCommon]), and a spec names no region.
type SpecReader interface {
	// ReadSpec makes no call. It returns the region also with an error, where that can be
	// read: a machine is deleted whatever its spec says by now.
	ReadSpec(api string, spec []byte) (SpecNames, error)
}

// SpecNames are the names that a provider spec refers to. The zero value of each: it has none.
type SpecNames struct {
	UserData, Credentials SecretRef
	// Region is as [Class].Region has it.
	Region string
}

// ReadCommon reads userDataSecret and credentialsSecret from a spec.
func ReadCommon(spec []byte) (SpecNames, error) {
	var common struct {
		UserDataSecret    *SecretRef `json:"userDataSecret"`
		CredentialsSecret *SecretRef `json:"credentialsSecret"`
	}
	if err := json.Unmarshal(spec, &common); err != nil {
		return SpecNames{}, Errorf(Invalid, "cannot decode the provider spec: %v", err)
	}
	var names SpecNames
	if common.UserDataSecret != nil {
		names.UserData = *common.UserDataSecret
	}
	if common.CredentialsSecret != nil {
		names.Credentials = *common.CredentialsSecret
	}
	return names, nil
}

// Size is what one instance of a class offers, for scaling from zero.
type Size struct {
	// VCPU counts virtual CPUs, GPU counts accelerators.
	VCPU, GPU int64
	// MemoryMiB is the memory in MiB.
	MemoryMiB int64
	// Architecture is the Kubernetes name: "amd64", "arm64"; empty if unknown.
	Architecture string
	// MaxPods is 0 when the infrastructure does not limit them.
	MaxPods int64
	// EphemeralStorageMiB is what the root disk has for pods, in MiB; 0 if unknown.
	EphemeralStorageMiB int64
	// GPUResource is the resource by which pods ask for accelerators
	// ("nvidia.com/gpu"); empty if unknown. Autoscalers have no place for other
	// extended resources.
	GPUResource corev1.ResourceName
	// Labels and Taints are what every node of the class registers with, as far as the
	// provider spec decides: zone, type, what a spec asks for. Those of the machine's
	// template are not meant, which the autoscaler reads itself.
	Labels map[string]string
	Taints []corev1.Taint
}

// Sizer is a Session that knows the capacity of its class's instances.
type Sizer interface {
	Size(ctx context.Context) (Size, error)
}

// PowerOp is a power operation.
type PowerOp string

// The power operations.
const (
	PowerOn  PowerOp = "On"
	PowerOff PowerOp = "Off"
	Reboot   PowerOp = "Reboot"
)

// Powerer is a Session that can switch instances.
type Powerer interface {
	// Power begins the operation; [Session].Find tells what came of it. [PowerOn] and
	// [PowerOff] may be repeated. A [Reboot] starts an instance that is off. It has a
	// request of at most 32 characters: where [Traits].RebootsOnce, a call with the request
	// of the instance's last one changes nothing, so that a call whose reply was lost may be
	// repeated. Elsewhere, and with an empty request, each call is another reboot. An
	// instance that does not exist is a [Conflict].
	Power(ctx context.Context, ref Ref, i Instance, op PowerOp, request string) error
}

// ScopeFinder is a Session that can look for an instance in all ownership scopes of its account.
type ScopeFinder interface {
	// FindScope returns the cluster ([Class].Cluster) for which an instance that exists and
	// carries ref's UID was made; empty where the infrastructure says that the account has
	// none, whatever the class's own cluster is. An answer that is denied or partial is an
	// error. It is asked of a machine that does not say where its instance was asked for.
	FindScope(ctx context.Context, ref Ref) (cluster string, err error)
}

// Leftover is something that was made for an instance and that is there although
// the instance is not: a disk, an interface, an address.
type Leftover struct {
	// Kind is the infrastructure's word for what it is, ID its identifier.
	Kind, ID string
	// UID and Name are those of the machine that it was made for; empty when
	// it does not say.
	UID, Name string
	// Owner and Namespace are those of the instance that it was made for; empty
	// when it does not say.
	Owner, Namespace string
}

// LeftoverLister is a Session that can tell what instances have left behind.
type LeftoverLister interface {
	// Leftovers yields everything in the class's ownership scope that belongs
	// to no instance, page by page. An error ends the listing, which is then
	// incomplete. What is listed goes with a Delete of the UID and the name.
	Leftovers(ctx context.Context) iter.Seq2[Leftover, error]
}
