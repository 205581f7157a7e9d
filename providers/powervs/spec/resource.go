package spec

import (
	machinev1 "github.com/openshift/api/machine/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/millwright-dev/millwright/provider/lenient"
)

// by says how a resource may be referred to.
type by string

const (
	byIDOrName by = "must be ID or Name"
	byAny      by = "must be ID, Name or RegEx"
)

// resource looks at a reference to a resource, which must have a type, and what the
// type asks for. What is there may be empty text: the original takes it.
func resource(at *field.Path, r machinev1.PowerVSResource, allowed by) (faults field.ErrorList) {
	missing := func(name string, value *string) {
		if value == nil {
			faults = append(faults, field.Required(at.Child(name), "the type "+string(r.Type)+" asks for it"))
		}
	}
	unfit := field.Invalid(at, lenient.Shown(r.Type), "its type "+string(allowed))
	switch r.Type {
	case "":
		faults = append(faults, field.Required(at, "its type "+string(allowed)))
	case machinev1.PowerVSResourceTypeID:
		missing("id", r.ID)
	case machinev1.PowerVSResourceTypeName:
		missing("name", r.Name)
	case machinev1.PowerVSResourceTypeRegEx:
		if allowed != byAny {
			faults = append(faults, unfit)
		}
		missing("regex", r.RegEx)
	default:
		faults = append(faults, unfit)
	}
	return faults
}
