// Package judge says whether controllers keep their promises, by ground truth:
// instances at the cloud, nodes, pods and raw objects in the API servers, with
// the history of all of them. It shares no code with what it judges: it imports
// no package of the product but the types of the APIs, and its predicates are
// written from the documents of the originals. What is wrong in a rule of the
// product is therefore not wrong here as well.
//
// A promise may be broken only by what changed after the pass looked. That is
// one rule for all statements ([Judge.since]): an object counts as whichever of
// the states speaks for the controller that it was in since the pass looked. What
// the controller wrote itself it knows. Whatever goes beyond that rule is in the
// table of excuses.
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

// Instance is one at the cloud, now or in the past.
type Instance struct {
	ID, UID, Name, IP, ProviderID, NodeName, Owner, Namespace string
	// Place is what one listing shows.
	Place   string
	Created time.Time
	// Foretold: the infrastructure says NodeName before the node is there.
	Foretold bool
	// Gone is when it ceases to exist; zero: it stays. Died: nobody asked for it.
	Gone time.Time
	Died bool
	// ByHand: people made it, not a controller.
	ByHand bool
	// Node is the UID of the node that its kubelet made last. Hostile: that kubelet
	// writes of its node what it likes.
	Node    types.UID
	Hostile bool
	// Cause is why the infrastructure has given it up, as it shows; zero: it has not.
	Cause Cause
}

// Exists reports whether there is one at t.
func (i Instance) Exists(t time.Time) bool { return i.Gone.IsZero() || t.Before(i.Gone) }

// Part is something that was made for an instance and exists.
type Part struct{ UID, Name, Place, Owner string }

// Outage is a time in which an API server was out of reach.
type Outage struct {
	// Control says that it is that of the machines, Target that of their nodes.
	Control, Target bool
	From, To        time.Time
	// Denied: it answered, and denied everything. That stops timers, and nothing else.
	Denied bool
}

func (o Outage) at(t time.Time) bool { return !t.Before(o.From) && t.Before(o.To) }

// World is what there is.
type World interface {
	Now() time.Time
	// All are the objects of the kind of example, by name.
	All(example runtime.Object) []client.Object
	Instances() []Instance
	Parts() []Part
	Outages() []Outage
	// Room reports whether there is a choice that is not sold out, and was not since the
	// faults stopped. There is none where there are no choices.
	Room() bool
	// Anchors are where people approve that orphans are removed.
	Anchors() []client.Object
}

// Rules are what the world asks of its controllers, besides what objects say.
type Rules struct {
	// APIs are those whose machines are here, Checks are empty health checks of the
	// kinds that there are.
	APIs   []API
	Checks []client.Object
	// Request is an empty request of checks that others remedy a machine; nil: there
	// are none.
	Request client.Object
	// Hopeless says about what nothing can be done before all is to end; nil: there is
	// no such thing.
	Hopeless func(o client.Object) bool
	// Foreign is the finalizer of somebody else.
	Foreign string
	// Owner and Namespace are the tags of instances that are ours.
	Owner, Namespace string
	// Grace, PerHour and Percent are those of the collector of orphans.
	Grace, Period    time.Duration
	PerHour, Percent int
	// Collects: there is one. Hostile: some kubelets write of their nodes what they
	// like.
	Collects, Hostile bool
	// Sized: somebody says what the machines of sets would offer. Alarmed: deployments
	// hear what health checks say, as where one process looks after both.
	Sized, Alarmed bool
	// Lag is by how much listings of the cloud and caches may be behind, Skew by how much
	// clocks are wrong, Pause for how long a pass may stop between two calls.
	CloudLag, ViewLag, Skew, Pause time.Duration
	// LookEvery and LookFor are how often sight is asked for, and for how long.
	LookEvery, LookFor time.Duration
}

// Waits are the timeouts of machines that say nothing else; zero: for ever.
type Waits struct{ JoinTimeout, HealthTimeout, DrainTimeout, DetachTimeout time.Duration }

// Judge looks at every write.
type Judge struct {
	World
	Rules
	// Broken is told of each broken promise.
	Broken func(statement, format string, args ...any)

	// log is the history of every object, seq the number of the last change.
	log map[types.UID][]change
	seq int64
	// known are the UIDs of all machines that ever were.
	known []types.UID
	// surplus are machines that a set gave up because it was to be smaller, strays
	// the UIDs for which an instance came when the machine was gone.
	surplus map[types.UID]bool
	strays  map[string]bool
	// changesBefore is the number of the last change before an instance was made, by its ID.
	changesBefore map[string]int64
	// sized are the passes that gave sets their sizes.
	sized map[types.UID][]sizing
	// refusals count by pod how often its budget refused an eviction; evicted
	// are, by pod, the processes that sent pods with volumes away.
	refusals map[types.UID]int
	evicted  map[types.UID]map[int]bool
	// departed are the pods with volumes that are gone, and since when.
	departed []change
	// begun is when each process first asked for the removal of an orphan.
	begun map[int]map[string]removal
	// forgotten are nodes that the target cluster lost in a restore.
	forgotten map[types.UID]bool
	healthRecord
	ChoiceRecord
}

// New returns a judge who has seen nothing yet.
func New(w World, r Rules, broken func(statement, format string, args ...any)) *Judge {
	j := &Judge{
		World: w, Rules: r, Broken: broken, log: map[types.UID][]change{},
		surplus: map[types.UID]bool{}, strays: map[string]bool{}, changesBefore: map[string]int64{}, sized: map[types.UID][]sizing{},
		refusals: map[types.UID]int{}, evicted: map[types.UID]map[int]bool{}, begun: map[int]map[string]removal{}, forgotten: map[types.UID]bool{}, healthRecord: newHealthRecord(),
	}
	j.ChoiceRecord = ChoiceRecord{j: j, unclear: map[string]string{}, askedBy: map[asker]bool{}, sold: map[int][]shortage{}}
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

// existing are the instances that exist, of the machine with the UID or of all.
func (j *Judge) existing(uid string) (out []Instance) {
	for _, i := range j.Instances() {
		if (uid == "" || i.UID == uid) && i.Exists(j.Now()) {
			out = append(out, i)
		}
	}
	return out
}

// controlled are the machines of s.
func (j *Judge) controlled(s set) (out []machine) {
	for _, m := range j.machines() {
		if m.owner == s.GetUID() {
			out = append(out, m)
		}
	}
	return out
}

// members are those that count as replicas of s.
func (j *Judge) members(s set) (out []machine) {
	for _, m := range j.controlled(s) {
		if s.counts(m) {
			out = append(out, m)
		}
	}
	return out
}

// setsOf are the sets of d.
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
