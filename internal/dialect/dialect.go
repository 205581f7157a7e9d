// Package dialect is how an API group spells the engine's ideas.
//
// A dialect is a lens, not a codec: View may drop whatever the engine does not
// need, because Record edits the object in place and so cannot lose what View
// dropped. Two laws hold, and package dialecttest checks them on random
// objects:
//
//	View(Record(m, o)) shows what o says
//	Record(m, o) changes no field outside those the dialect owns
package dialect

import (
	"errors"
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/nodemeta"
	"github.com/millwright-dev/millwright/provider"
)

// Annotations of ours, understood on the objects of every API group.
const (
	// OwnPrefix begins the key of each of them.
	OwnPrefix = millwright.Prefix
	// AbandonAnnotation on a machine under deletion allows to let it go
	// although its instance cannot be reached any more, for instance because
	// the class and the credentials were deleted first. Any value but "false"
	// counts. The instance, if there is one, is left to the orphan collector.
	AbandonAnnotation = millwright.AbandonInstance
	// OnNodeAnnotation on a machine names what the machine has put on its node,
	// as [nodemeta.Owned], where that is taken off again once it is wanted no more.
	OnNodeAnnotation = millwright.OnNode
)

// Machines reads and writes one kind of machine object. It does no I/O: what a machine is
// made from is read by a [Resolver]. What one API alone has is in optional.go.
type Machines[M client.Object] interface {
	// API is the group: [provider.OpenShift] or [provider.Gardener].
	API() string
	// New returns an empty object, NewList an empty list of them.
	New() M
	NewList() client.ObjectList
	// Group is the label by which m belongs to a group of which one machine
	// at a time may be given up; an empty value is no group.
	Group(m M) (key, value string)
	// View projects m onto the engine's facts.
	View(m M) lifecycle.Machine
	// Policy answers, for m, the questions on which API groups disagree.
	Policy(m M) lifecycle.Policy
	// Want is what m asks of its node while it lives.
	Want(m M, c Class) nodemeta.Want
	// Record writes what came of a pass into m: finalizer, labels, spec fields
	// and status that the dialect owns, and nothing else.
	Record(m M, o lifecycle.Outcome)
	// Events are what a human should read about the pass, given the object
	// before and after it was recorded. Only changes are told, never retries.
	Events(before, after M, o lifecycle.Outcome) []Event
}

// Items yields the objects of a list, as it has them.
func Items[O client.Object](list client.ObjectList) iter.Seq[O] {
	return func(yield func(O) bool) {
		done := errors.New("done")
		_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails where we tell it to, or for what is no list
			if !yield(o.(O)) {
				return done
			}
			return nil
		})
	}
}

// Class is what a machine is made from.
type Class struct {
	provider.Class
	// UserData is the boot data with its placeholders still in it;
	// UserDataErr says why there is none.
	UserData    []byte
	UserDataErr error
	// Absent names the secrets that the class refers to, that do not exist, and that
	// count as empty, as the end of a sentence.
	Absent string
	// SpecPath is where the API keeps the provider spec; it prefixes the field
	// paths of the provider's objections.
	SpecPath string
	// Inherited is what of the spec neither m nor what it refers to says, in the
	// form in which Record keeps it, which makes Class ask no more for it; nil
	// when there is none, or it is kept already ([lifecycle.Session].Inherited).
	Inherited []byte
	// Role is the machine's role, empty when unknown.
	Role string
	// Capacity are extended resources that the node is to advertise.
	Capacity corev1.ResourceList
	// TokenLifetime and TokenGroups are those of a bootstrap token made for
	// user data that asks for one. Groups are separated by commas.
	TokenLifetime time.Duration
	TokenGroups   string
}

// Event is one line for humans, as the API group words it.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase word that clients filter on, Action what was
	// being done.
	Reason, Action string
	Note           string
}

// Objection puts the field path of a provider's objection to the spec under
// the place where the API keeps the spec. Other errors pass unchanged.
func (c Class) Objection(err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Invalid {
		return err
	}
	path := c.SpecPath
	if e.Field != "" {
		path += "." + e.Field
	}
	return provider.InvalidField(path, "%w", e.Err)
}
