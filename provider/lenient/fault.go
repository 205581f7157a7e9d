package lenient

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider"
)

// MostFaults is the number of faults of a list that are reported: a list of a million wrong entries gets no
// million messages.
const MostFaults = 50

// Limits of the quotations in a fault, in bytes.
const (
	mostOfError = 1 << 10
	mostOfValue = 256
)

// Undecodable is the fault of a spec that [Decode] refuses.
func Undecodable(path *field.Path, err error) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, provider.Clip(err.Error(), mostOfError))
}

// Error returns an [provider.Invalid] error for each fault, joined; nil for none.
func Error(faults field.ErrorList) error {
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		errs = append(errs, &provider.Error{Kind: provider.Invalid, Field: f.Field, Err: errors.New(f.ErrorBody())})
	}
	return errors.Join(errs...)
}

// Warnings returns the faults in err, joined or alone, as warnings below path. It is for specs that are
// refused only when machines are created from them, since the original checks nothing when a spec is
// written.
func Warnings(path *field.Path, err error) (warnings []string) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*provider.Error](err); ok {
			warnings = append(warnings, path.Child(e.Field).String()+": "+e.Err.Error())
		}
	}
	return warnings
}

// Shown is a value as a fault quotes it.
func Shown[S ~string](value S) string { return provider.Clip(string(value), mostOfValue) }
