package lenient

import (
	"errors"

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

// Error is an [provider.Invalid] error for each fault, joined; nil for none.
func Error(faults field.ErrorList) error {
	errs := make([]error, 0, len(faults))
	for _, f := range faults {
		errs = append(errs, &provider.Error{Kind: provider.Invalid, Field: f.Field, Err: errors.New(f.ErrorBody())})
	}
	return errors.Join(errs...)
}

// Warnings are the faults in err, joined or alone, as warnings below path: of specs that are refused only as machines are made of them,
// since the original has no rules that are asked as a spec is written.
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
