// Package provider is the contract between the engine and the infrastructures: what each must implement to
// run machines, and what is optional.
//
// A [Provider] opens a [Session] for a [Class]; a session has four verbs, and describes itself. All verbs
// are level-based and idempotent by identity: any call may be repeated after a crash, a lost reply or a
// change of leader, and must then have the effect of a single call. Calls return promptly: a long operation
// is a pending [State] of the instance, which the engine reads again later; it never blocks the caller.
// Errors are classified by what the engine does about them ([Kind]).
//
// Optional capabilities are optional interfaces (capability.go), found with [As] so that they survive
// decoration.
package provider

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The API groups whose specs a provider understands. They decide how [Class.Spec] is decoded and the format
// of the provider IDs that the provider writes; it reads provider IDs of both.
const (
	OpenShift = "machine.openshift.io"
	Gardener  = "machine.sapcloud.io"
)

// Class has everything that a provider needs to know beside the identity of the machine. All machines of
// one template have the same class.
type Class struct {
	// API is the group in which the machine is declared: [OpenShift] or
	// [Gardener].
	API string
	// Cluster is the ownership scope: instances are tagged with it, and List reports only instances that
	// carry it. Required.
	Cluster string
	// Owner is the identity of the control plane that holds the Machine objects: a UID of 36 characters;
	// empty if unknown. Several control planes may share an ownership scope. Create writes it on the
	// instance, and nothing changes it afterwards. Find, List and Delete ignore it: machines move between
	// control planes, and their instances move with them.
	Owner string
	// Spec is the raw provider spec (JSON): providerSpec.value of a machine of [OpenShift], providerSpec of
	// a MachineClass of [Gardener]. Only the provider decodes it.
	Spec []byte
	// Fallbacks are JSON merge patches of Spec, best first: each patch gives a spec from which an instance
	// may be created while all specs before it are [Exhausted]. A provider never sees them (package
	// decorate).
	Fallbacks [][]byte
	// Credentials is the data of the credential secrets, merged.
	Credentials map[string][]byte
	// Object is the object of the control cluster that declares the class, if the class has its own: a
	// MachineClass of [Gardener]. Otherwise its name is empty. Only a provider that passes the object on
	// needs it.
	Object ObjectRef
	// Region and Zone are those that the class declares outside its spec; empty if it does not.
	Region, Zone string
	// NodeCapacity is the capacity of the nodes that the class declares outside its spec, by resource:
	// nodeTemplate.capacity of a MachineClass of [Gardener], where "gpu" counts accelerators. Nil if it
	// does not. Autoscalers read it; an infrastructure whose instance types decide the capacity does not
	// use it.
	NodeCapacity corev1.ResourceList
}

// Ref names one machine for its whole life.
type Ref struct {
	// UID is the UID of the API object. It alone decides whether an instance is this machine's.
	UID string
	// Namespace and Name are the API object's. The name also finds instances of another implementation.
	// Create writes the namespace on the instance.
	Namespace, Name string
	// ProviderID is the one recorded for the machine; empty until known.
	ProviderID string
}

// Token is the idempotency token to create ref's instance in cluster: 32 hexadecimal digits, the same after
// any restart. A machine has one token for its whole life, since it gets one instance. Providers pass it to
// the infrastructure as client token, deterministic name or UUID.
func (r Ref) Token(cluster string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/0", cluster, r.UID))
	return hex.EncodeToString(sum[:16])
}

// Want is the input of one machine's creation beside its class.
type Want struct {
	// UserData is the boot data, placeholders already replaced. The provider encodes it for the
	// infrastructure.
	UserData []byte
	// Role is the machine's role ("worker", "master"), empty when unknown.
	Role string
	// Choice is the name of the [Choice] to create it from; empty: the first one, if the session has
	// choices.
	Choice string
	// Attempt counts the creations that the infrastructure finally refused as [Exhausted]. A call that is
	// repeated because its answer was lost has the same attempt. Some infrastructures remember the token of
	// a refused request, and refuse every later request with it: their tokens include the attempt. For the
	// others [Ref.Token] is enough.
	Attempt int
}

// Instance describes an instance as the infrastructure reports it.
type Instance struct {
	// ID is the infrastructure's own identifier.
	ID string
	// UID is the machine UID in the instance's tags; empty if another implementation created it.
	UID string
	// Name is the machine name that the instance carries.
	Name string
	// Owner and Namespace are the [Class.Owner] and the machine's namespace at the instance's creation,
	// each in a tag of its own, which no tag of users replaces. Empty: an older Millwright or another
	// implementation created it without them.
	Owner, Namespace string
	// ProviderID is the future spec.providerID of the Node, in the format of the class's API.
	ProviderID string
	// NodeName is the name under which the instance will register; empty if the infrastructure cannot
	// predict it. A machine accepts only a node with this name or a host name of its Addresses, domain and
	// case aside.
	NodeName string
	// Addresses are the known addresses, in a stable order.
	Addresses []corev1.NodeAddress
	// State is the state as the engine distinguishes it.
	State State
	// RawState is the infrastructure's own word for the state ("running", "powering-on"), for users.
	RawState string
	// Fault is the reason why the infrastructure failed an instance that it had accepted: no capacity after
	// all, a quota, an image that does not boot; nil without a failure. Such an instance was never usable,
	// and is not Running: it is Stopped while a part of it exists (an instance in error), and Terminated
	// otherwise. It is found, listed and deleted as any other: a fault is never an error of Find. From a
	// [Transient], [Throttled] or [Conflict] fault the instance may still recover, the others are final.
	Fault *Error
	// Uninitialized says that Initialize has still to be called.
	Uninitialized bool
	// Type, Region and Zone describe where and what it is; empty when unknown.
	Type, Region, Zone string
	// Interruptible says that the infrastructure may reclaim it (spot).
	Interruptible bool
	// Created is the time at which the infrastructure accepted it; zero if unknown.
	Created time.Time
	// Tags are all tags, ownership tags included; nil when not reported.
	Tags map[string]string
}

// State is deliberately coarse: the engine does not distinguish finer states.
type State string

// The states of an instance.
const (
	// Pending: accepted, not usable yet.
	Pending State = "Pending"
	// Running: powered on, as far as the infrastructure knows.
	Running State = "Running"
	// Stopped: exists, but is powered off.
	Stopped State = "Stopped"
	// Stopping: under deletion; it will disappear without another call.
	Stopping State = "Stopping"
	// Terminated: deleted, but still listed. It does not count as an instance, except that its machine does
	// not get another.
	Terminated State = "Terminated"
)

// Exists reports whether the instance still exists and costs money.
func (i Instance) Exists() bool { return i.State != Terminated }

// Existing returns the existing instances among all, oldest first; the ID breaks ties, so that every
// observer chooses the same one of several.
func Existing(all []Instance) []Instance {
	out := slices.DeleteFunc(slices.Clone(all), func(i Instance) bool { return !i.Exists() })
	slices.SortStableFunc(out, func(a, b Instance) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return out
}

// Provider runs instances on one kind of infrastructure. Its methods are safe
// for concurrent use.
type Provider interface {
	// Name is the short lower-case name used in flags and metrics: "kubemark".
	Name() string
	// Open decodes class.Spec strictly and returns a session for it. The provider caches the clients behind
	// sessions per credentials, endpoint and region, and drops a client that the infrastructure denies.
	// Open makes no remote call that creates or changes anything.
	//
	// For a spec that cannot be decoded, has an unknown field or a value out of range, the error is
	// [Invalid] and names the field path. Every spec that the original implementation accepts is accepted.
	Open(ctx context.Context, class Class) (Session, error)
}

// Session is an open class. It is cheap, holds no lock and may be dropped at any time; its methods are safe
// for concurrent use.
type Session interface {
	// Find reports the instances that may be ref's, within the ownership scope: none, one or many. These
	// are
	//
	//   - those that carry its UID,
	//   - the one that its provider ID names, in the format of either API, also
	//     if it carries another UID (the machine was restored from a backup)
	//     or none,
	//   - those that carry its name and no UID: another implementation created them.
	//
	// The engine decides which of them belong to ref. The result is empty only if the infrastructure
	// confirms that nothing exists; a denied, partial or failed answer is an error. See [Traits].ReadLag
	// for infrastructures whose listings lag behind their writes.
	Find(ctx context.Context, ref Ref) ([]Instance, error)
	// Create creates an instance for ref, or returns one of those that Find would: never a second one, also
	// if the class has changed since (Differences reports that) or another choice is requested. The
	// instance may still be Pending.
	Create(ctx context.Context, ref Ref, want Want) (Instance, error)
	// Delete begins, or continues, to remove the given instances, whatever UID they carry, and every object
	// created for ref's UID (instances, disks, NICs, ports, addresses), also without a given instance. It
	// keeps an instance that only has ref's name or provider ID and is not given. It reports done once none
	// of these objects exists. If nothing exists, it reports done at once.
	//
	// A ref without UID stands for no machine: then Delete removes the given instances and what belongs to
	// them alone, but no other instance, whatever it shares with them. This removes one of two instances of
	// a machine.
	Delete(ctx context.Context, ref Ref, instances []Instance) (done bool, err error)
	// List yields every instance in the class's ownership scope, wanted or not and of any owner, page by
	// page. An error ends the listing, which is then incomplete.
	List(ctx context.Context) iter.Seq2[Instance, error]
	// Traits describes the session. It makes no call.
	Traits() Traits
	// Account returns the name of the account of the credentials. The name is unique and never changes: the
	// number of an account, the ID of a project or of a subscription, but nothing that users may edit. It
	// is the same for all credentials of the account, for every API, cluster, region and spec of the class,
	// also without a spec, and after a restart.
	//
	// The engine calls it if a decision depends on it: the provider stores the answer with the client, so
	// that each client makes one call for it. If the account cannot be read, the result is an error, never
	// an empty name; [ErrNoAccount] says that the provider never knows it, also after ctx has ended.
	Account(ctx context.Context) (string, error)
	// Differences returns the settings that i was created with and that the class now has a different value
	// for, one line for each, which begins with the path of the field:
	//
	//	instanceType: the instance has "small", the spec says "large"
	//
	// It returns no line for an instance that Create has just returned. A setting that the instance does
	// not show is no difference. It makes no call.
	Differences(ref Ref, i Instance) []string
	// Status returns the provider's part of the API object: for [OpenShift] the JSON of
	// status.providerStatus, for [Gardener] the text of status.lastKnownState. Nil leaves the field
	// unchanged. It makes no call.
	Status(i Instance) ([]byte, error)
}

// Traits are the properties of a session that it knows without a call. The zero value is correct for a
// session with unknown properties, if its listings are up to date.
type Traits struct {
	// Scope names what the class's spec adds to account, cluster and region: sessions of one account,
	// cluster and region with equal scopes list the same instances. [WholeAccount] if a spec adds nothing.
	// Empty: each spec is a scope of its own, which costs a listing for each.
	Scope string
	// Source is the hash of everything that the session read from [Objects] ([KeyOf]), and of nothing else:
	// when it changes, the engine retries what failed. Empty: the session read nothing.
	Source ClientKey
	// ReadLag is how long Find and List may lag behind Create and Delete: the engine does not trust an
	// empty answer that is younger. 0: they are up to date.
	ReadLag time.Duration
	// Choices are the variants of an instance of the class, best first: each is used while those before it
	// are [Exhausted]. None if the spec allows one variant only.
	Choices []Choice
	// RebootsOnce says that the session recognizes the request of [Powerer].Power for a [Reboot].
	RebootsOnce bool
	// IdentifiesNodes says that the machine controller writes [Instance].ProviderID on the nodes of the
	// class: no cloud controller manager supports the infrastructure, and kubelets start without a provider
	// ID. It is written once, while the instance is Running, and only on a node that has no provider ID, is
	// known to be the machine's, and has an internal IP of Addresses, or the NodeName. It cannot be changed
	// afterwards, so it must identify the instance for its whole life.
	IdentifiesNodes bool
	// Identify returns the identity of the instance that providerID names: the same for each of its
	// spellings, and another for every other instance. One instance can have several spellings: each API
	// has its own format, formats have changed over time, and infrastructures are inconsistent in case. It
	// is empty if providerID can name no instance of this infrastructure. Nil: the scheme and the text
	// after the last slash decide, regardless of case ([Identifier]).
	Identify func(providerID string) string
}

// WholeAccount is the [Traits].Scope of specs that do not narrow the listing.
const WholeAccount = "*"

// ErrNoAccount says that the provider cannot name the account of its credentials.
var ErrNoAccount = errors.New("this provider cannot name the account that its credentials open")

// Base has the answers of a session of which only the instances are known, for sessions to embed. A session
// that embeds another struct with one of these methods declares that method itself: Go selects neither of
// two methods of the same depth.
type Base struct{}

// Traits implements [Session].
func (Base) Traits() Traits { return Traits{} }

// Account implements [Session].
func (Base) Account(context.Context) (string, error) { return "", ErrNoAccount }

// Differences implements [Session].
func (Base) Differences(Ref, Instance) []string { return nil }

// Status implements [Session].
func (Base) Status(Instance) ([]byte, error) { return nil, nil }
