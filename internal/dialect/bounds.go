package dialect

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Limits of texts from infrastructures and nodes that are written into objects; [provider.Clip] applies those
// of texts. All are in bytes.
const (
	// MostText is the limit of a message, MostError of an error within a longer message, MostWord of a word.
	MostText  = 4 << 10
	MostError = 3 << 10
	MostWord  = 256

	mostAddresses = 64
	mostStatus    = 256 << 10
)

// mostNote is the API server's limit of an event's note: it refuses an event with a longer one.
const mostNote = 1024

// Note returns text cut to the note of an event.
func Note(text string) string { return provider.Clip(text, mostNote) }

// Addresses returns the first 64 addresses of an instance that are valid: names have at most 253 bytes. The
// rest is left out; none is cut, because a cut name could be that of another host.
func Addresses(all []corev1.NodeAddress) []corev1.NodeAddress {
	out := slices.DeleteFunc(slices.Clone(all), func(a corev1.NodeAddress) bool {
		return len(a.Address) > 253 || len(a.Type) > MostWord
	})
	return slices.Clip(out[:min(len(out), mostAddresses)])
}

// Storable reports whether a provider's status exists and leaves room in an object for all other data.
func Storable(status []byte) bool { return len(status) > 0 && len(status) <= mostStatus }
