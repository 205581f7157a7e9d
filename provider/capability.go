package provider

import (
	"context"
	"encoding/json"
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Wrapper is a decorator of providers or sessions. Unwrap returns the decorated value.
type Wrapper interface{ Unwrap() any }

// As finds the optional interface T on v or on the value that v decorates. A decorator that intercepts
// calls of an optional interface, without implementing it itself, has a method
//
//	As(target any) bool
//
// which sets *target, a pointer to an interface, and reports whether it did. So it intercepts only the
// interfaces that the decorated value has.
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

// Initializer is a Session whose instances need a step after creation (Instance.Uninitialized). The step
// may be repeated. The engine runs it on instances that are not Pending: an instance that the
// infrastructure creates switched off is Stopped, and the step starts it.
type Initializer interface {
	Initialize(ctx context.Context, ref Ref, i Instance) error
}

// Maintainer is a Session that restores the settings of a live instance to those of the class: tags that
// were removed, the membership of load balancers.
type Maintainer interface {
	// Unkept reports whether something may differ: because i shows a difference, or because i does not show
	// the setting. It makes no call.
	Unkept(ref Ref, i Instance) bool
	// Maintain repairs the differences. The engine calls it when the instance runs for the first time, and
	// from then on at intervals while it is Unkept. It may be repeated, and terminates or restarts nothing.
	// A failure is reported to users and does not affect the machine.
	Maintain(ctx context.Context, ref Ref, i Instance) error
}

// SecretRef names a secret; an empty namespace means the machine's own.
type SecretRef struct{ Namespace, Name string }

// SpecReader is a Provider that reads from a spec what the engine needs before it opens the class. For
// other providers, the engine reads the secrets from the fields that the specs of all infrastructures share
// ([ReadCommon]), and knows no region.
type SpecReader interface {
	// ReadSpec makes no call. It returns the region also with an error, if the region can be read: a
	// machine is deleted even if its spec has become invalid.
	ReadSpec(api string, spec []byte) (SpecNames, error)
}

// SpecNames are the names that a provider spec refers to. A zero value means that the spec has no such
// name.
type SpecNames struct {
	UserData, Credentials SecretRef
	// Region is the same as [Class].Region.
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
	// EphemeralStorageMiB is the space for pods on the root disk, in MiB; 0 if unknown.
	EphemeralStorageMiB int64
	// GPUResource is the resource by which pods request accelerators ("nvidia.com/gpu"); empty if unknown.
	// Autoscalers support no other extended resources.
	GPUResource corev1.ResourceName
	// Labels and Taints are those that every node of the class registers with, as far as the provider spec
	// decides: zone, type, labels in the spec. Those of the machine's template are not included: the
	// autoscaler reads them itself.
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

// Powerer is a Session that can switch instances on and off.
type Powerer interface {
	// Power begins the operation; [Session].Find shows its result. [PowerOn] and [PowerOff] may be
	// repeated. A [Reboot] starts an instance that is off. The request has at most 32 characters. With
	// [Traits].RebootsOnce, a call with the request of the instance's last reboot changes nothing, so that
	// a call whose reply was lost may be repeated. Otherwise, and with an empty request, each call is
	// another reboot. For an instance that does not exist the error is a [Conflict].
	Power(ctx context.Context, ref Ref, i Instance, op PowerOp, request string) error
}

// ScopeFinder is a Session that can search all ownership scopes of its account for an instance.
type ScopeFinder interface {
	// FindScope returns the cluster ([Class].Cluster) of the existing instance that carries ref's UID. It
	// is empty if the infrastructure confirms that the account has no such instance in any cluster. A
	// denied or partial answer is an error. The engine calls it for a machine that does not record the
	// cluster of its instance.
	FindScope(ctx context.Context, ref Ref) (cluster string, err error)
}

// Leftover is an object that was created for an instance and still exists after the instance: a disk, an
// interface, an address.
type Leftover struct {
	// Kind is the infrastructure's word for the object, ID its identifier.
	Kind, ID string
	// UID and Name are those of the machine that it was created for; empty if it does not record them.
	UID, Name string
	// Owner and Namespace are those of the instance that it was created for; empty if it does not record
	// them.
	Owner, Namespace string
}

// LeftoverLister is a Session that can list what instances have left behind.
type LeftoverLister interface {
	// Leftovers yields every object in the class's ownership scope that belongs to no instance, page by
	// page. An error ends the listing, which is then incomplete. A Delete of the UID and the name removes
	// what is listed.
	Leftovers(ctx context.Context) iter.Seq2[Leftover, error]
}
