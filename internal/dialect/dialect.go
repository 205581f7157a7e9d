// Package dialect translates between an API group and the engine's types.
//
// A dialect is a lens, not a codec: View may drop fields that the engine does not need, because Record edits
// the object in place and so cannot lose them. Two laws hold, and package dialecttest checks them on random
// objects:
//
//	View(Record(m, o)) shows the facts of o
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

// Millwright's annotations on the objects of every API group.
const (
	// OwnPrefix begins the key of each of them.
	OwnPrefix = millwright.Prefix
	// AbandonAnnotation on a machine under deletion allows the deletion of the object although its instance
	// cannot be reached any more, for example because the class and the credentials were deleted first. Any
	// value but "false" counts. The instance, if it exists, is left to the orphan collector.
	AbandonAnnotation = millwright.AbandonInstance
	// MovedToAnnotation on a machine names the machine of another API to which its instance was moved, as "api/namespace/name".
	MovedToAnnotation = millwright.MovedTo
	// OnNodeAnnotation on a machine names the metadata that the machine has put on its node, as
	// [nodemeta.Owned], if that is removed again when it is no longer wanted.
	OnNodeAnnotation = millwright.OnNode
)

// Machines reads and writes one kind of machine object. It does no I/O: a [Resolver] reads classes and
// secrets. Interfaces that only one API has are in optional.go.
type Machines[M client.Object] interface {
	// API is the group: [provider.OpenShift] or [provider.Gardener].
	API() string
	// New returns an empty object, NewList an empty list of them.
	New() M
	NewList() client.ObjectList
	// Group returns the label that puts m into a group of which one machine at a time may fail; an empty
	// value is no group.
	Group(m M) (key, value string)
	// View returns the engine's facts of m.
	View(m M) lifecycle.Machine
	// Policy returns the API group's rules for m.
	Policy(m M) lifecycle.Policy
	// Want returns the metadata that m declares for its node, until it is deleted.
	Want(m M, c Class) nodemeta.Want
	// Record writes the result of a pass into m: finalizer, labels, spec fields and status that the dialect
	// owns, and nothing else.
	Record(m M, o lifecycle.Outcome)
	// Events returns the events of the pass, given the object before and after it was recorded: changes only,
	// never retries.
	Events(before, after M, o lifecycle.Outcome) []Event
}

// Items yields the objects of a list, in its order.
func Items[O client.Object](list client.ObjectList) iter.Seq[O] {
	return func(yield func(O) bool) {
		done := errors.New("done")
		_ = meta.EachListItem(list, func(o runtime.Object) error { // it fails only if yield stops it, or if list is not a list
			if !yield(o.(O)) {
				return done
			}
			return nil
		})
	}
}

// Class is the resolved class of a machine.
type Class struct {
	provider.Class
	// UserData is the boot data with its placeholders still in it;
	// UserDataErr says why it is missing.
	UserData    []byte
	UserDataErr error
	// Absent names the referenced secrets that do not exist and count as empty, as the end of a sentence.
	Absent string
	// SpecPath is the field of the provider spec in the API; it prefixes the field paths in the provider's
	// errors.
	SpecPath string
	// Inherited is the part of the spec that neither m nor the objects that it refers to have, in the form in
	// which Record stores it, after which Class no longer looks for it; nil if none exists, or if it is
	// stored already ([lifecycle.Session].Inherited).
	Inherited []byte
	// Role is the machine's role, empty when unknown.
	Role string
	// Capacity are extended resources that the node advertises.
	Capacity corev1.ResourceList
	// TokenLifetime and TokenGroups are those of a bootstrap token created for user data with a token's
	// placeholder. Groups are separated by commas.
	TokenLifetime time.Duration
	TokenGroups   string
}

// Event is one event for users, in the API group's words.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is the CamelCase word that clients filter on, Action the action in progress.
	Reason, Action string
	Note           string
}

// Objection prefixes the field path of a provider's error about the spec with the path of the spec in the
// API. Other errors are returned unchanged.
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
