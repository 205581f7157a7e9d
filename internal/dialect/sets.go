package dialect

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// Sets reads and writes one kind of set, and the machines that it owns. The
// same two laws hold as for machines.
type Sets[S client.Object] interface {
	// Traits are what does not depend on the object.
	Traits() SetTraits
	// New returns an empty set.
	New() S
	// View is what s says, faults included.
	View(s S) SetView
	// Member projects a machine of s. It does not change m.
	Member(s S, m client.Object, nodes Nodes) replicas.Member
	// NewMachine is the machine of this name as it is to be created, with its
	// finalizer and its owner in place.
	NewMachine(s S, name string) client.Object
	// Propagate brings m in step with what its set's template says about
	// living machines, and reports whether anything changed. With dry, it only
	// reports.
	Propagate(s S, m client.Object, dry bool) bool
	// Record writes what came of a pass into the status of s, and nothing
	// else. What o does not tell is left as it is.
	Record(s S, o SetOutcome)
}

// SetView is what a set says, in the engine's words.
type SetView struct {
	replicas.Set
	// Policy answers, for the set, the questions on which API groups disagree.
	Policy replicas.Policy
	// Selector tells the machines of the set; it matches nothing where the set is at fault
	// about it.
	Selector labels.Selector
}

// Freezer is what the lens of an API group also is whose sets stop making
// machines when there are far too many ([limits.Judge]).
type Freezer[S client.Object] interface {
	// Parent returns an empty object of the kind that may control a set.
	Parent() client.Object
	// Crowd projects what the freeze is decided from; parent controls s, nil when
	// there is none, and s has the machines.
	Crowd(s S, parent client.Object, machines []client.Object) limits.Crowd
	// Freeze edits the metadata of s to be frozen, or to be so no longer, in
	// which case a request for that is granted. View then says [replicas.Set]
	// NoGrowth, and Record brings the status in step.
	Freeze(s S, frozen bool)
}

// Nodes finds a node by name; nil when there is none.
type Nodes func(name string) *corev1.Node

// NoNode is for those who know no nodes.
func NoNode(string) *corev1.Node { return nil }

// OnNode is for those who know one node: the one asked for, whatever its name.
func OnNode(n *corev1.Node) Nodes { return func(string) *corev1.Node { return n } }

// SetTraits is what holds for all sets of a kind.
type SetTraits struct {
	// Kind is the set's, as owner references spell it.
	Kind schema.GroupVersionKind
	// Finalizer holds a set until its machines are gone; empty when that is
	// the garbage collector's work.
	Finalizer string
	// Machine returns an empty machine of the kind that sets own, Machines an empty list
	// of them, and Sets an empty list of sets.
	Machine        func() client.Object
	Machines, Sets func() client.ObjectList
	// Events are the reasons of what the set tells people; an empty one is
	// not told.
	Events SetEvents
}

// SetEvents names the events about a set.
type SetEvents struct {
	Created, Deleted           string
	FailedCreate, FailedDelete string
	Invalid                    string
	Froze, Thawed              string
	// Failure begins the note of a failed creation or deletion.
	Failure string
}

// Action is what was being done when something went wrong. An API that has one reason for all of that has one action, too.
func (e SetEvents) Action(doing string) string {
	if e.FailedCreate == e.FailedDelete {
		return "Reconcile"
	}
	return doing
}

// SetOutcome is what a pass over a set came to.
type SetOutcome struct {
	// Now is when.
	Now time.Time
	// Faults are what is wrong with the object; with any, nothing but the
	// faults was looked at.
	Faults []lifecycle.Fault
	// Tally counts the members, and Machines are their objects.
	Tally    replicas.Tally
	Machines []client.Object
	// Judged says that the pass decided and acted, so that an absent Failure
	// is good news.
	Judged  bool
	Failure *SetFailure
	// Withheld says why members that should go were kept; empty when none was.
	Withheld string
	// Held says why members that are wanted were not created; empty when all were.
	Held string
	// Frozen says why the set is frozen; empty when it is not, or when nobody
	// looked.
	Frozen string
}

// SetFailure is a creation or deletion that failed.
type SetFailure struct {
	// Creating tells creation from deletion.
	Creating bool
	Err      error
}

// The API server's own limits for generated names: 63 characters of which 5
// are random.
const (
	maxNameLength = 63
	SuffixLength  = 5
)

// MachineName is the name of a new machine of a set, made as the API server
// makes names of generateName, but beforehand, so that a creation whose reply
// was lost can be recognised.
func MachineName(set, suffix string) string {
	base := GenerateName(set)
	return base[:min(len(base), maxNameLength-SuffixLength)] + suffix
}

// GenerateName is the prefix of the names of a set's machines.
func GenerateName(set string) string { return set + "-" }
