package provider

import (
	"context"
	"iter"
	"time"

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

// Referrer is a Provider whose specs name secrets in places of its own. For
// others the common fields userDataSecret.name and credentialsSecret.name are
// read.
type Referrer interface {
	Refers(api string, spec []byte) (userData, credentials SecretRef, err error)
}

// Locator is a Provider that knows where the instances of a spec are also if Open refuses it: a machine is
// deleted whatever its spec says by now.
type Locator interface {
	// Region is the region that the spec names, as [Class.Region] has it; empty where it names
	// none or cannot be read. It makes no call.
	Region(api string, spec []byte) string
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

// Powerer is a Session that can switch instances. The call only begins to:
// [Session].Find tells what came of it. [PowerOn] and [PowerOff] may be repeated;
// each call with [Reboot] is another reboot (see [Rebooter]). An instance that is
// off is started by it. One that does not exist is a [Conflict].
type Powerer interface {
	Power(ctx context.Context, ref Ref, i Instance, op PowerOp) error
}

// Rebooter is a Session that knows again what it was asked before, so that a
// call whose reply was lost may be repeated. Others reboot by [Powerer], and
// reboot twice in the worst case.
type Rebooter interface {
	// Reboot begins to do what [Powerer] does for [Reboot], once for each request:
	// with the request that it was last called with for the instance, it changes
	// nothing. A request is at most 32 characters long.
	Reboot(ctx context.Context, ref Ref, i Instance, request string) error
}

// NodeIdentifier is a Session of an infrastructure that has nobody to tell nodes which instance
// they are: no cloud controller manager knows it, and kubelets are not started with their
// provider ID. For all others that is theirs to do, and never the machine controller's.
type NodeIdentifier interface {
	// IdentifiesNodes reports whether nodes of the class are given [Instance].ProviderID
	// as theirs. It is written once, while the instance is Running, and only on a node
	// that shows none, is known to be the machine's, and has an internal IP of Addresses,
	// or the NodeName: nobody can change it afterwards. So it has to be what the instance
	// is for its whole life. No call is made for it.
	IdentifiesNodes() bool
}

// IdentifiesNodes reports whether s is a [NodeIdentifier] that says so.
func IdentifiesNodes(s Session) bool {
	n, ok := As[NodeIdentifier](s)
	return ok && n.IdentifiesNodes()
}

// StatusReporter is a Session with provider status of its own.
type StatusReporter interface {
	// Status returns what the API keeps for the provider: for [OpenShift] the
	// JSON of status.providerStatus, for [Gardener] the text of
	// status.lastKnownState. Nil leaves it as it is.
	Status(i Instance) ([]byte, error)
}

// Lagger is a Session whose Find may run behind its own Create and Delete for
// a while: an empty answer younger than ReadLag is not believed.
type Lagger interface{ ReadLag() time.Duration }

// Scoper is a Session that knows which part of an account's instances it lists.
type Scoper interface {
	// Scope stands for what the class's spec adds to account, cluster and
	// region: sessions of one account, cluster and region whose scopes are
	// equal list the same instances. Empty where a spec adds nothing. Specs of
	// sessions without a scope are each taken for a scope of their own, which
	// costs a listing for each.
	Scope() string
}

// ScopeFinder is a Session that can look for an instance in all ownership scopes of its account.
type ScopeFinder interface {
	// FindScope returns the cluster ([Class].Cluster) for which an instance that exists and
	// carries ref's UID was made; empty where the infrastructure says that the account has
	// none, whatever the class's own cluster is. An answer that is denied or partial is an
	// error. It is asked of a machine that does not say where its instance was asked for.
	FindScope(ctx context.Context, ref Ref) (cluster string, err error)
}

// Accounter is a Session that can name the account that its credentials open.
type Accounter interface {
	// Account returns a name that no two accounts share and that stays what it
	// is: the number of an account, the ID of a project or of a subscription, and
	// nothing that people may edit. It is the same for all credentials of the
	// account, whatever API, cluster, region and spec the class has, also where it
	// has no spec, and after a restart.
	//
	// It is asked for where an answer depends on it: the answer is kept with the client (see
	// [Clients]), so that each client makes one call for it. That the account is
	// not known is an error, never an empty name.
	Account(ctx context.Context) (string, error)
}

// VolumeNamer is a Provider that knows how nodes list its volumes: drains wait until a
// volume is listed no more. It is asked for PersistentVolumes of which nothing else tells.
type VolumeNamer interface {
	// VolumeIDs returns parts of the names under which status.volumesAttached of a node
	// lists the volume; none for a volume of another infrastructure.
	VolumeIDs(ctx context.Context, volume *corev1.PersistentVolumeSpec) ([]string, error)
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
