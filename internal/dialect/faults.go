package dialect

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// SelectsEverything is the message of the fault of a deployment whose selector is empty. That fault has its
// own event.
const SelectsEverything = "is empty and would select every set: name the labels of the sets that belong here"

// SelectsAll reports whether a deployment has the fault of an empty selector.
func SelectsAll(faults []lifecycle.Fault) bool {
	return slices.ContainsFunc(faults, func(f lifecycle.Fault) bool { return f.Message == SelectsEverything })
}

// faultsOf returns the errors of r.
func faultsOf(r *millwright.Reader) (out []lifecycle.Fault) {
	for _, f := range r.Faults() {
		out = append(out, lifecycle.Fault(f))
	}
	return out
}

// CheckBound returns the errors in a bound of a rollout: it must be a number of machines or a percentage
// ("25%"), and not below 0. It has no maximum: the engine limits it to the number of machines. A nil bound is
// an error only if it is required.
func CheckBound(field string, bound *intstr.IntOrString, required bool) []lifecycle.Fault {
	if bound == nil {
		if !required {
			return nil
		}
		return []lifecycle.Fault{{Field: field, Message: "must be a number of machines or a percentage, is missing"}}
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(bound, 100, true)
	switch {
	case err != nil:
		return []lifecycle.Fault{{Field: field, Message: fmt.Sprintf("must be a number of machines or a percentage, is %q", bound.String())}}
	case n < 0:
		return []lifecycle.Fault{{Field: field, Message: fmt.Sprintf("must not be negative, is %s", bound.String())}}
	}
	return nil
}

// On reports whether the Millwright annotation key, a switch, is on at o.
func On(o client.Object, key string) bool { return millwright.Read(o.GetAnnotations()).On(key) }
