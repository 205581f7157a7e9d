package dialect

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Bounds of what infrastructures and nodes say, where it is written into objects;
// [provider.Clip] keeps to those of texts. All are in bytes.
const (
	// MostText is the most of a message, MostError of an error in one that says
	// more, MostWord of a word.
	MostText  = 4 << 10
	MostError = 3 << 10
	MostWord  = 256

	mostAddresses = 64
	mostStatus    = 256 << 10
)

// mostNote is how much of an event's note the API server takes: a longer one would be
// refused, and the event with it.
const mostNote = 1024

// Note is text as the note of an event.
func Note(text string) string { return provider.Clip(text, mostNote) }

// Addresses are the first 64 of an instance that may be addresses: names have at
// most 253 bytes. The rest is left out, and none is cut, which would make it
// another's.
func Addresses(all []corev1.NodeAddress) []corev1.NodeAddress {
	out := slices.DeleteFunc(slices.Clone(all), func(a corev1.NodeAddress) bool {
		return len(a.Address) > 253 || len(a.Type) > MostWord
	})
	return slices.Clip(out[:min(len(out), mostAddresses)])
}

// Storable reports whether there is a provider's status that leaves room in an
// object for everything else.
func Storable(status []byte) bool { return len(status) > 0 && len(status) <= mostStatus }
