package migrate

import "maps"

// converter converts provider specs between the APIs. A spec has no type and no names of Secrets. An error names a field that the
// other API cannot express.
type converter struct {
	toOpenShift, toGardener func(spec map[string]any) (map[string]any, error)
}

// sameForm is for infrastructures whose specs have the same fields in both APIs.
func sameForm(spec map[string]any) (map[string]any, error) { return maps.Clone(spec), nil }

// converters are those of the infrastructures, by name.
var converters = map[string]converter{
	"kubemark": {sameForm, sameForm},
	"libvirt":  {sameForm, sameForm},
	"metal3":   {sameForm, sameForm},
}
