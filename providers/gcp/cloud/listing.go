package cloud

import (
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// nothingHere is the warning for an empty zone. Any other one means that something is missing.
const nothingHere = "NO_RESULTS_ON_PAGE"

// warning is a warning of a page of a listing, or of a part of it such as "zones/us-east1-b".
type warning struct{ about, code, message string }

// thePage is the subject of a page's own warning.
const thePage = "something"

// complete is an error if a page lacks an unreachable part: without it, a zone would look empty.
func complete(unreachable []string, warnings []warning) error {
	if len(unreachable) > 0 {
		return provider.Errorf(provider.Transient, "the listing lacks %s", strings.Join(unreachable, ", "))
	}
	for _, w := range warnings {
		if w.code != nothingHere {
			return provider.Errorf(provider.Transient, "the listing lacks %s: %s: %s", w.about, w.code, w.message)
		}
	}
	return nil
}

// The client library has separate types for the warnings of each kind of listing, so there is one function
// for each.

func completeInstances(page *compute.InstanceAggregatedList) error {
	var all []warning
	if w := page.Warning; w != nil {
		all = append(all, warning{thePage, w.Code, w.Message})
	}
	for scope, of := range page.Items {
		if w := of.Warning; w != nil {
			all = append(all, warning{scope, w.Code, w.Message})
		}
	}
	return complete(page.Unreachables, all)
}

func completeDisks(page *compute.DiskAggregatedList) error {
	var all []warning
	if w := page.Warning; w != nil {
		all = append(all, warning{thePage, w.Code, w.Message})
	}
	for scope, of := range page.Items {
		if w := of.Warning; w != nil {
			all = append(all, warning{scope, w.Code, w.Message})
		}
	}
	return complete(page.Unreachables, all)
}

func completeOperations(page *compute.OperationAggregatedList) error {
	var all []warning
	if w := page.Warning; w != nil {
		all = append(all, warning{thePage, w.Code, w.Message})
	}
	for scope, of := range page.Items {
		if w := of.Warning; w != nil {
			all = append(all, warning{scope, w.Code, w.Message})
		}
	}
	return complete(page.Unreachables, all)
}
