package migrate

import (
	"errors"
	"maps"
)

// converter converts provider specs between the APIs. A spec has no type and no names of Secrets. An error names a field that the
// other API cannot express.
type converter struct {
	toOpenShift, toGardener func(spec map[string]any) (map[string]any, error)
	// takeSecrets removes the names of Secrets from a spec of machine.openshift.io, and putSecrets adds them.
	takeSecrets func(spec map[string]any) (userData, credentials string)
	putSecrets  func(spec map[string]any, userData, credentials string) error
}

// converters are those of the infrastructures, by name. Their specs have the same fields in both APIs, except the Secrets.
var converters = map[string]converter{
	"kubemark": {sameForm, sameForm, takeReferences("userDataSecret"), putReferences("userDataSecret")},
	"metal3":   {sameForm, sameForm, takeReferences("userData"), putReferences("userData")},
	"libvirt":  {sameForm, sameForm, takeFormatted, putFormatted},
}

func sameForm(spec map[string]any) (map[string]any, error) { return maps.Clone(spec), nil }

// credentialsField refers to the Secret with the credentials.
const credentialsField = "credentialsSecret"

// takeReferences is for specs that refer to Secrets as {name: ...}.
func takeReferences(userDataField string) func(map[string]any) (userData, credentials string) {
	return func(spec map[string]any) (userData, credentials string) {
		return takeReference(spec, userDataField), takeReference(spec, credentialsField)
	}
}

func takeReference(spec map[string]any, field string) string {
	ref, _ := spec[field].(map[string]any)
	delete(spec, field)
	name, _ := ref["name"].(string)
	return name
}

func putReferences(userDataField string) func(spec map[string]any, userData, credentials string) error {
	return func(spec map[string]any, userData, credentials string) error {
		for field, name := range map[string]string{userDataField: userData, credentialsField: credentials} {
			if name != "" {
				spec[field] = map[string]any{"name": name}
			}
		}
		return nil
	}
}

// formats are the fields of libvirt's spec that select the format of the user data. In machine.openshift.io they also name its Secret.
var formats = []string{"ignition", "cloudInit"}

func takeFormatted(spec map[string]any) (userData, credentials string) {
	for _, field := range formats {
		format, there := spec[field].(map[string]any)
		if !there {
			continue
		}
		format = maps.Clone(format)
		if name, _ := format["userDataSecret"].(string); name != "" {
			userData = name
		}
		delete(format, "userDataSecret")
		spec[field] = format
	}
	return userData, ""
}

func putFormatted(spec map[string]any, userData, _ string) error {
	if userData == "" {
		return nil
	}
	for _, field := range formats {
		if format, there := spec[field].(map[string]any); there {
			format = maps.Clone(format)
			format["userDataSecret"] = userData
			spec[field] = format
			return nil
		}
	}
	return errors.New("the provider spec has neither ignition nor cloudInit: in machine.openshift.io, one of them names the Secret with the user data")
}
