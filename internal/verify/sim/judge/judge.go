// Package judge decides whether controllers keep their promises, from the real state: instances at the cloud,
// nodes, pods and raw objects in the API servers, with the history of all of them. It shares no code with the
// controllers: it imports no package of the product except the types of the APIs, and its predicates are written
// from the documents of the originals. A wrong rule of the product is therefore not repeated here.
//
// Only a change after the pass looked excuses a broken promise. That is one rule for all statements ([Judge.since]): of
// all states of an object since the pass looked, the state that is best for the controller counts. The controller knows
// its own writes. All further excuses are in the table of excuses.
package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The controllers.
const (
	Machines    = "machines"
	Sets        = "sets"
	Deployments = "deployments"
	Orphans     = "orphans"
	Nodes       = "nodes"
	Health      = "health"
)

// Instance is an instance at the cloud, now or in the past.
type Instance struct {
	ID, UID, Name, IP, ProviderID, NodeName, Owner, Namespace string
	// Place is the scope of one listing of the cloud.
	Place   string
	Created time.Time
	// Foretold: the cloud predicts NodeName before the node exists.
	Foretold bool
	// Gone is the end of its existence; zero: it stays. Died: no client requested that.
	Gone time.Time
	Died bool
	// ByHand: users created it, not a controller.
	ByHand bool
	// Node is the UID of the node that its kubelet registered last. Hostile: that kubelet writes false statements to its
	// node.
	Node    types.UID
	Hostile bool
	// Cause is the reason of its failure, as the cloud shows it; zero if it has not failed.
	Cause Cause
}

// Exists reports whether it exists at t.
func (i Instance) Exists(t time.Time) bool { return i.Gone.IsZero() || t.Before(i.Gone) }

// Part is an existing resource that was created for an instance.
type Part struct{ UID, Name, Place, Owner string }

// Outage is a time in which an API server was unreachable.
type Outage struct {
	// Control: it is the API server of the machines. Target: it is the API server of their nodes.
	Control, Target bool
	From, To        time.Time
	// Denied: the API server answered, but denied every request. That stops only timers.
	Denied bool
}

func (o Outage) at(t time.Time) bool { return !t.Before(o.From) && t.Before(o.To) }

// World is the real state.
type World interface {
	Now() time.Time
	// All are the objects of the same kind as example, by name.
	All(example runtime.Object) []client.Object
	Instances() []Instance
	Parts() []Part
	Outages() []Outage
	// Room reports whether a choice has capacity now and has had it since the faults stopped. It is false in worlds without
	// choices.
	Room() bool
	// Anchors are the objects on which users approve the removal of orphans.
	Anchors() []client.Object
}

// Rules are the world's parameters for its controllers, in addition to their objects.
type Rules struct {
	// APIs are the APIs whose machines exist here. Checks are empty health checks of the existing kinds.
	APIs   []API
	Checks []client.Object
	// Request is an empty remediation request; nil if this world has no requests.
	Request client.Object
	// Hopeless reports whether an object cannot reach the desired state before all objects are deleted; nil if all can reach
	// it.
	Hopeless func(o client.Object) bool
	// Foreign is the finalizer of another controller.
	Foreign string
	// Owner and Namespace are the tag values of our instances.
	Owner, Namespace string
	// Grace, Period, PerHour and Percent are the parameters of the collector of orphans.
	Grace, Period    time.Duration
	PerHour, Percent int
	// Collects: a collector runs. Hostile: an attacker controls some kubelets.
	Collects, Hostile bool
	// Sized: a controller publishes the capacity of the machines of sets. Alarmed: deployments see the alarms of health
	// checks, because one process runs both controllers.
	Sized, Alarmed bool
	// CloudLag and ViewLag bound the delay of the cloud's listings and of caches, Skew the error of clocks, Pause the time that a
	// pass may stop between two calls.
	CloudLag, ViewLag, Skew, Pause time.Duration
	// LookEvery and LookFor are the interval and the timeout of connectivity probes.
	LookEvery, LookFor time.Duration
}

// Waits are the default timeouts of machines; zero: no timeout.
type Waits struct{ JoinTimeout, HealthTimeout, DrainTimeout, DetachTimeout time.Duration }

// Judge judges every write.
type Judge struct {
	World
	Rules
	// Broken is called for each broken promise.
	Broken func(statement, format string, args ...any)

	// log is the history of every object, seq the number of the last change.
	log map[types.UID][]change
	seq int64
	// restored is the number of the last change by the last restore; 0 without one.
	restored int64
	// known are the UIDs of all machines that have existed.
	known []types.UID
	// surplus are machines that a set deleted in order to shrink. strays are the UIDs of machines whose instance was created
	// after the machine had been deleted.
	surplus map[types.UID]bool
	strays  map[string]bool
	// changesBefore is the number of the last change before an instance was created, by its ID.
	changesBefore map[string]int64
	// sized are the passes that set the sizes of sets.
	sized map[types.UID][]sizing
	// refusals counts by pod how often its budget refused an eviction. evicted are, by pod, the processes that evicted pods
	// with volumes.
	refusals map[types.UID]int
	evicted  map[types.UID]map[int]bool
	// departed are the deleted pods with volumes, with their times.
	departed []change
	// begun is the time at which each process first requested the removal of an orphan.
	begun map[int]map[string]removal
	// forgotten are nodes that a restore of the target cluster removed.
	forgotten map[types.UID]bool
	healthRecord
	ChoiceRecord
}

// New returns a judge without a history.
func New(w World, r Rules, broken func(statement, format string, args ...any)) *Judge {
	j := &Judge{
		World: w, Rules: r, Broken: broken, log: map[types.UID][]change{},
		surplus: map[types.UID]bool{}, strays: map[string]bool{}, changesBefore: map[string]int64{}, sized: map[types.UID][]sizing{},
		refusals: map[types.UID]int{}, evicted: map[types.UID]map[int]bool{}, begun: map[int]map[string]removal{}, forgotten: map[types.UID]bool{}, healthRecord: newHealthRecord(),
	}
	j.ChoiceRecord = ChoiceRecord{j: j, unclear: map[string]string{}, dropped: map[string]bool{}, askedBy: map[asker]bool{}, sold: map[int][]shortage{}}
	return j
}

func each[T any](all []client.Object, read func(client.Object) T) []T {
	out := make([]T, len(all))
	for i, o := range all {
		out[i] = read(o)
	}
	return out
}

func (j *Judge) node(name string) *corev1.Node {
	if name == "" {
		return nil
	}
	for _, o := range j.All(&corev1.Node{}) {
		if o.GetName() == name {
			return o.(*corev1.Node)
		}
	}
	return nil
}

// existing are the existing instances of the machine with the UID, or all existing instances.
func (j *Judge) existing(uid string) (out []Instance) {
	for _, i := range j.Instances() {
		if (uid == "" || i.UID == uid) && i.Exists(j.Now()) {
			out = append(out, i)
		}
	}
	return out
}

// controlled are the machines that s controls.
func (j *Judge) controlled(s set) (out []machine) {
	for _, m := range j.machines() {
		if m.owner == s.GetUID() {
			out = append(out, m)
		}
	}
	return out
}

// members are the machines that s counts as replicas.
func (j *Judge) members(s set) (out []machine) {
	for _, m := range j.controlled(s) {
		if s.counts(m) {
			out = append(out, m)
		}
	}
	return out
}

// setsOf are the sets that d controls.
func (j *Judge) setsOf(d deployment) (out []set) {
	for _, s := range j.sets() {
		if s.owner == d.GetUID() {
			out = append(out, s)
		}
	}
	return out
}

// find returns the object with the UID among those given.
func find[T client.Object](all []T, uid types.UID) (one T, ok bool) {
	for _, o := range all {
		if o.GetUID() == uid {
			return o, uid != ""
		}
	}
	return one, false
}
