package spec

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/admit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// providerPrefix may stand before a resource ID.
const providerPrefix = "azure://"

func checkCapacityReservation(s *machineSpec, a admit.Request) field.ErrorList {
	id := s.CapacityReservationGroupID
	if id == "" || isResourceID(strings.TrimPrefix(id, providerPrefix)) {
		return nil
	}
	return field.ErrorList{field.Invalid(a.Path.Child("capacityReservationGroupID"), lenient.Shown(id),
		"is no resource ID, such as /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.Compute/capacityReservationGroups/<name>")}
}

// typeOf is the type of a resource ID's resource, below its provider: "virtualMachines",
// "galleries/images/versions". Empty: it has none.
func typeOf(id string) string {
	segments := strings.Split(strings.Trim(id, "/"), "/")
	for n := len(segments) - 1; n >= 0; n-- {
		if !strings.EqualFold(segments[n], "providers") {
			continue
		}
		var types []string
		for k := n + 2; k+1 < len(segments); k += 2 {
			types = append(types, segments[k])
		}
		return strings.Join(types, "/")
	}
	return ""
}

// isResourceID reports whether text is a path of pairs of a type and a name, below a subscription or a provider. A provider is
// followed by its namespace, a type and a name; a last type may be without name unless it is a subscription or a resource group.
// Types are of either case, and empty segments do not count.
func isResourceID(text string) bool {
	if !strings.HasPrefix(text, "/") {
		return false
	}
	segments := slices.DeleteFunc(strings.Split(text, "/"), func(s string) bool { return s == "" })
	is := func(at int, word string) bool { return at < len(segments) && strings.EqualFold(segments[at], word) }
	if len(segments) < 2 || !is(0, "subscriptions") && !is(0, "providers") {
		return false
	}
	for len(segments) > 1 {
		take := 2
		if is(0, "providers") && len(segments) > 2 && !is(2, "providers") {
			take = 4
		}
		if take > len(segments) {
			return false
		}
		segments = segments[take:]
	}
	return !is(0, "subscriptions") && !is(0, "resourceGroups")
}
