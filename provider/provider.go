// Package provider is what an infrastructure must offer to run machines, and
// what it may offer besides.
//
// A [Provider] opens a [Session] for a [Class]; a session has four verbs, and says what
// it is like. All verbs are level-based and idempotent by identity: any call may be repeated
// after a crash, a lost reply or a change of leader, and must then have the
// effect of a single call. Calls return promptly: work that takes long is a
// pending [State] of the instance, asked for again later, never a blocked
// caller. Errors are classified by what the engine does about them ([Kind]).
//
// Optional powers are optional interfaces (capability.go), found with [As] so
// that they survive decoration.
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

// The API groups whose specs a provider understands. They choose how
// [Class.Spec] is decoded and in which format provider IDs are written; a
// provider reads provider IDs of both.
const (
	OpenShift = "machine.openshift.io"
	Gardener  = "machine.sapcloud.io"
)

// Class is all that a provider needs to know besides which machine is meant.
// Every machine made from one template has the same class.
type Class struct {
	// API is the group in which the machine is declared: [OpenShift] or
	// [Gardener].
	API string
	// Cluster is the ownership scope: instances are tagged with it, and List
	// reports only instances that carry it. Required.
	Cluster string
	// Owner is the identity of the control plane that holds the Machine objects:
	// a UID of 36 characters; empty where it is not known. Several control planes
	// may share an ownership scope. Create writes it on the instance, and nothing
	// changes it afterwards; Find, List and Delete do not ask for it: machines move
	// between control planes, and their instances move with them.
	Owner string
	// Spec is the raw provider spec (JSON): providerSpec.value of a machine of
	// [OpenShift], providerSpec of a MachineClass of [Gardener]. The provider
	// decodes it; nobody else does.
	Spec []byte
	// Fallbacks are JSON merge patches of Spec, best first: each makes a spec of which
	// an instance may be made as well while what comes before is [Exhausted]. A provider
	// never sees them (package decorate).
	Fallbacks [][]byte
	// Credentials is the data of the credential secrets, merged.
	Credentials map[string][]byte
	// Object is what declares the class in the control cluster, where that is an object of
	// its own: a MachineClass of [Gardener]. Its name is empty where there is none. Only
	// who hands the object on to others needs it.
	Object ObjectRef
	// Region and Zone are those the class declares outside its spec; empty
	// when it does not.
	Region, Zone string
	// NodeCapacity is what the class declares outside its spec that its nodes have,
	// by resource: nodeTemplate.capacity of a MachineClass of [Gardener], where
	// "gpu" counts accelerators. Nil when it does not. Autoscalers read it; an
	// infrastructure whose instances are what their type is has no use for it.
	NodeCapacity corev1.ResourceList
}

// Ref names one machine for its whole life.
type Ref struct {
	// UID is the identity: the API object's UID. It alone decides whether an
	// instance is this machine's.
	UID string
	// Namespace and Name are the API object's. Name also serves to find what
	// another implementation made. Create writes the namespace on the instance.
	Namespace, Name string
	// ProviderID is what was recorded for the machine; empty until known.
	ProviderID string
}

// Token is the idempotency token for creating ref's instance in cluster: 32
// hexadecimal digits, the same after any restart. There is one for the life of a
// machine, since it gets one instance. Providers hand it to the
// infrastructure as client token, deterministic name or UUID.
func (r Ref) Token(cluster string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/0", cluster, r.UID))
	return hex.EncodeToString(sum[:16])
}

// Want is what one machine should be given, beyond its class.
type Want struct {
	// UserData is the boot data, placeholders already replaced. The encoding
	// that the infrastructure asks for is the provider's business.
	UserData []byte
	// Role is the machine's role ("worker", "master"), empty when unknown.
	Role string
	// Choice is the name of the [Choice] to make it of; empty: the first one, if the
	// session has choices.
	Choice string
	// Attempt is how often an instance was asked for and refused for good, as [Exhausted]. What is repeated, because an answer was
	// lost, has the same one. Some infrastructures remember the token of a request that they refused, and refuse all that comes
	// with it: their token has the attempt in it. For the others [Ref.Token] is enough.
	Attempt int
}

// Instance is what the infrastructure says about a machine.
type Instance struct {
	// ID is the infrastructure's own identifier.
	ID string
	// UID is the machine UID that the instance is tagged with; empty when
	// another implementation made it.
	UID string
	// Name is the machine name that the instance carries.
	Name string
	// Owner and Namespace are the [Class.Owner] and the machine's namespace that
	// the instance was made with, each in a tag of its own that no tag of users
	// stands in for. Empty: it was made without, by an older Millwright or by
	// another implementation.
	Owner, Namespace string
	// ProviderID is what the Node's spec.providerID will read, in the format
	// of the class's API.
	ProviderID string
	// NodeName is the name under which the instance will register; empty when
	// the infrastructure cannot foretell it. A machine takes no node of another
	// name than that and its Addresses' host names, domain and case aside.
	NodeName string
	// Addresses are the known addresses, in a stable order.
	Addresses []corev1.NodeAddress
	// State is what the engine tells apart.
	State State
	// RawState is the infrastructure's own word for it ("running",
	// "powering-on"), for humans.
	RawState string
	// Fault is why the infrastructure gave up what it had accepted: capacity was
	// used up after all, a quota, an image that does not boot; nil while it did
	// not. Such an instance was never usable, and is not Running: it is Stopped
	// while something of it is left (an instance in error), and Terminated else. It
	// is found, listed and deleted as any other: a fault is never an error of Find.
	// The kind says what may come of it: what is [Transient], [Throttled] or
	// [Conflict] the infrastructure may still mend, the others are final.
	Fault *Error
	// Uninitialized says that Initialize has still to be called.
	Uninitialized bool
	// Type, Region and Zone describe where and what it is; empty when unknown.
	Type, Region, Zone string
	// Interruptible says that the infrastructure may take it back (spot).
	Interruptible bool
	// Created is when the infrastructure accepted it; zero when unknown.
	Created time.Time
	// Tags are all tags, ownership tags included; nil when not reported.
	Tags map[string]string
}

// State is deliberately coarse: the engine tells no finer states apart.
type State string

// The states of an instance.
const (
	// Pending: accepted, not usable yet.
	Pending State = "Pending"
	// Running: powered on, as far as the infrastructure knows.
	Running State = "Running"
	// Stopped: exists, but is powered off.
	Stopped State = "Stopped"
	// Stopping: on its way out; it will be gone without another call.
	Stopping State = "Stopping"
	// Terminated: gone, but still listed. It does not count as an instance,
	// except that a machine that had it does not get another.
	Terminated State = "Terminated"
)

// Exists reports whether something is there that costs money.
func (i Instance) Exists() bool { return i.State != Terminated }

// Existing returns those of all that exist, oldest first; the ID breaks ties,
// so that every observer chooses the same one of several.
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
	// Open decodes class.Spec strictly and returns a session for it. Clients
	// behind sessions are cached per credentials, endpoint and region, and
	// dropped when the infrastructure denies them. Open makes no remote call
	// that creates or changes anything.
	//
	// A spec that cannot be decoded, has an unknown field or a value out of
	// range is an [Invalid] error that names the field path. Specs that the
	// original implementation accepts are accepted.
	Open(ctx context.Context, class Class) (Session, error)
}

// Session is a class opened. It is cheap, holds no lock and may be dropped at
// any time; its methods are safe for concurrent use.
type Session interface {
	// Find reports the instances that may be ref's, within the ownership scope:
	// none, one or many. These are
	//
	//   - those that carry its UID,
	//   - the one that its provider ID names, in the format of either API, also
	//     where it carries another UID (the machine was restored from a backup)
	//     or none,
	//   - those that carry its name and no UID: another implementation made them.
	//
	// Whose they are the engine decides. The result is empty only when the
	// infrastructure positively says that there is nothing; a denied, partial
	// or failed answer is an error. See [Traits].ReadLag for infrastructures whose
	// listings run behind their writes.
	Find(ctx context.Context, ref Ref) ([]Instance, error)
	// Create makes an instance for ref, or reports one of those that Find would:
	// never a second, also when the class has changed since (Differences tells) or
	// another choice is asked for.
	// The instance may still be Pending.
	Create(ctx context.Context, ref Ref, want Want) (Instance, error)
	// Delete begins, or continues, to remove the given instances, whatever UID
	// they carry, and everything made for ref's UID (instances, disks, NICs,
	// ports, addresses), also when no instance is given. What merely has ref's
	// name or provider ID, and is not given, stays. It reports done once nothing
	// of that is left. Deleting what does not exist is done at once.
	//
	// A ref without UID stands for no machine: then the given instances go, and
	// what belongs to them alone, but no other instance, whatever it shares with
	// them. So one of two instances of a machine is removed.
	Delete(ctx context.Context, ref Ref, instances []Instance) (done bool, err error)
	// List yields every instance in the class's ownership scope, wanted or
	// not and whoever owns it, page by page. An error ends the listing, which is then incomplete.
	List(ctx context.Context) iter.Seq2[Instance, error]
	// Traits describes the session. It makes no call.
	Traits() Traits
	// Account returns the name of the account that the credentials open. No two accounts
	// share a name, and it never changes: the number of an account, the ID of a project or
	// of a subscription, and nothing that people may edit. It is the same for all
	// credentials of the account, whatever API, cluster, region and spec the class has, also
	// where it has no spec, and after a restart.
	//
	// The engine asks where an answer depends on it: the provider keeps the answer with the
	// client, so that each client makes one call for it. An account that cannot be read is an
	// error, never an empty name; [ErrNoAccount] says that the provider never knows it, also
	// where ctx has ended.
	Account(ctx context.Context) (string, error)
	// Differences returns what i was created with and what the class says instead, one line
	// for each difference that begins with the path of the field:
	//
	//	instanceType: the instance has "small", the spec says "large"
	//
	// It returns none for an instance that Create has just returned. What the instance does
	// not show is no difference. No call is made for it.
	Differences(ref Ref, i Instance) []string
	// Status returns what the API stores for the provider: for [OpenShift] the JSON of
	// status.providerStatus, for [Gardener] the text of status.lastKnownState. Nil leaves
	// the field as it is. No call is made for it.
	Status(i Instance) ([]byte, error)
}

// Traits are the properties of a session that it knows without a call. The zero value is
// correct for a session of which nothing is known, if its listings are up to date.
type Traits struct {
	// Scope names what the class's spec adds to account, cluster and region: sessions of
	// one account, cluster and region with equal scopes list the same instances.
	// [WholeAccount] where a spec adds nothing. Empty: each spec is a scope of its own,
	// which costs a listing for each.
	Scope string
	// Source is the hash of what the session read from [Objects] ([KeyOf]), and of nothing
	// else of them: the engine retries what failed when it changes. Empty: it read nothing.
	Source ClientKey
	// ReadLag is how long Find and List may run behind Create and Delete: the engine does
	// not believe an empty answer that is younger. 0: they are up to date.
	ReadLag time.Duration
	// Choices are what an instance of the class may be created as, best first: each is used
	// while those before it are [Exhausted]. None where the spec has one possibility.
	Choices []Choice
	// RebootsOnce says that the session recognizes the request of [Powerer].Power for a [Reboot].
	RebootsOnce bool
	// IdentifiesNodes says that nodes of the class get [Instance].ProviderID as theirs from
	// the machine controller: no cloud controller manager knows the infrastructure, and
	// kubelets are not started with their provider ID. It is written once, while the
	// instance is Running, and only on a node that shows none, is known to be the machine's,
	// and has an internal IP of Addresses, or the NodeName: it cannot be changed
	// afterwards, so it has to be the instance's for its whole life.
	IdentifiesNodes bool
	// Identify returns what identifies the instance that providerID stands for: the same
	// for each of its spellings, and another for every other instance. One instance may be
	// spelled in several ways: each API has its own format, formats have changed in the
	// course of time, and infrastructures do not agree with themselves on case. It is empty
	// where providerID can name no instance of this infrastructure. Nil: the scheme and what
	// follows the last slash decide, in whatever case ([Identifier]).
	Identify func(providerID string) string
}

// WholeAccount is the [Traits].Scope of specs that do not narrow what is listed.
const WholeAccount = "*"

// ErrNoAccount says that the provider cannot name the account of its credentials.
var ErrNoAccount = errors.New("this provider cannot name the account that its credentials open")

// Base has the answers of a session of which nothing is known besides its instances, for
// sessions to embed. A session that embeds another struct with one of these methods declares
// that method itself: Go takes neither of two that are as deep.
type Base struct{}

// Traits implements [Session].
func (Base) Traits() Traits { return Traits{} }

// Account implements [Session].
func (Base) Account(context.Context) (string, error) { return "", ErrNoAccount }

// Differences implements [Session].
func (Base) Differences(Ref, Instance) []string { return nil }

// Status implements [Session].
func (Base) Status(Instance) ([]byte, error) { return nil, nil }
