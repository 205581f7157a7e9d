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

// Sets reads and writes one kind of set, and the machines that it owns. The same two laws hold as for
// machines.
type Sets[S client.Object] interface {
	// Traits returns the properties of the kind.
	Traits() SetTraits
	// New returns an empty set.
	New() S
	// View returns the facts of s, including faults.
	View(s S) SetView
	// Member returns the facts of a machine of s. It does not change m.
	Member(s S, m client.Object, nodes Nodes) replicas.Member
	// NewMachine returns the machine of this name to create, with its finalizer and its owner.
	NewMachine(s S, name string) client.Object
	// Propagate copies the fields of its set's template that concern existing machines to m, and reports
	// whether anything changed. With dry, it only reports.
	Propagate(s S, m client.Object, dry bool) bool
	// Record writes the result of a pass into the status of s, and nothing else. Fields that o does not cover
	// stay as they are.
	Record(s S, o SetOutcome)
}

// SetView has the facts of a set, in the engine's types.
type SetView struct {
	replicas.Set
	// Policy has the API group's rules for the set.
	Policy replicas.Policy
	// Selector selects the machines of the set; it matches nothing if the set's selector is invalid.
	Selector labels.Selector
}

// Freezer is also implemented by the lens of an API group whose sets stop creating machines when far too many
// exist ([limits.Judge]).
type Freezer[S client.Object] interface {
	// Parent returns an empty object of the kind that may control a set.
	Parent() client.Object
	// Crowd returns the facts for the freeze; parent controls s, nil if none exists, and s has the
	// machines.
	Crowd(s S, parent client.Object, machines []client.Object) limits.Crowd
	// Freeze edits the metadata of s to be frozen or not; the latter grants a request for that. View then
	// sets [replicas.Set] NoGrowth, and Record updates the status.
	Freeze(s S, frozen bool)
}

// Nodes finds a node by name; nil if none exists.
type Nodes func(name string) *corev1.Node

// NoNode is for callers without nodes.
func NoNode(string) *corev1.Node { return nil }

// OnNode is for callers with one node: it returns that node for any name.
func OnNode(n *corev1.Node) Nodes { return func(string) *corev1.Node { return n } }

// SetTraits has the properties of a kind of set.
type SetTraits struct {
	// Kind is the set's kind, as owner references spell it.
	Kind schema.GroupVersionKind
	// Finalizer holds a set until its machines are deleted; empty if the garbage collector deletes them.
	Finalizer string
	// Machine returns an empty machine of the kind that sets own, Machines an empty list of them, and Sets an
	// empty list of sets.
	Machine        func() client.Object
	Machines, Sets func() client.ObjectList
	// Events are the reasons of the set's events; an empty one disables the event.
	Events SetEvents
}

// SetEvents names the events about a set.
type SetEvents struct {
	Created, Deleted           string
	FailedCreate, FailedDelete string
	Invalid                    string
	Froze, Thawed              string
	// Failure is the beginning of the note about a failed creation or deletion.
	Failure string
}

// Action returns the failed action. An API with one reason for all failures has one action, too.
func (e SetEvents) Action(doing string) string {
	if e.FailedCreate == e.FailedDelete {
		return "Reconcile"
	}
	return doing
}

// SetOutcome is the result of a pass over a set.
type SetOutcome struct {
	// Now is the time of the pass.
	Now time.Time
	// Faults are the errors in the object; if there are any, nothing else was processed.
	Faults []lifecycle.Fault
	// Tally counts the members, and Machines are their objects.
	Tally    replicas.Tally
	Machines []client.Object
	// Judged says that the pass decided and acted, so that a missing Failure means success.
	Judged  bool
	Failure *SetFailure
	// Withheld says why members that should be deleted were kept; empty if none was.
	Withheld string
	// Held says why members that are wanted were not created; empty if all were.
	Held string
	// Frozen says why the set is frozen; empty if it is not, or if that was not checked.
	Frozen string
}

// SetFailure is a failed creation or deletion.
type SetFailure struct {
	// Creating is true for a creation, false for a deletion.
	Creating bool
	Err      error
}

// The API server's limits for generated names: 63 characters, of which 5 are random.
const (
	maxNameLength = 63
	SuffixLength  = 5
)

// MachineName returns the name of a new machine of a set, in the form of the API server's generateName, but
// chosen beforehand, so that a creation whose reply was lost can be recognized.
func MachineName(set, suffix string) string {
	base := GenerateName(set)
	return base[:min(len(base), maxNameLength-SuffixLength)] + suffix
}

// GenerateName is the prefix of the names of a set's machines.
func GenerateName(set string) string { return set + "-" }
