package lenient

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
)

// MostFaults is how many faults of a list are told: whoever writes a million wrong entries is not sent as many.
const MostFaults = 50

// Bounds of what a fault shows, in bytes.
const (
	mostOfError = 1 << 10
	mostOfValue = 256
)

// Undecodable is the fault of a spec that [Decode] refuses.
func Undecodable(path *field.Path, err error) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, provider.Clip(err.Error(), mostOfError))
}

// Shown is a value as a fault quotes it.
func Shown[S ~string](value S) string { return provider.Clip(string(value), mostOfValue) }
