package kubeapi

import (
	"bytes"
	"encoding/json"
)

// Strict reads an object into one of the type of its kind, and is what is wrong where that has not all of its fields.
func Strict(o Object, into any) []Cause {
	raw, err := json.Marshal(o)
	if err != nil {
		return []Cause{Wrong("metadata", err.Error())}
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(into); err != nil {
		return []Cause{Wrong("spec", "strict decoding error: "+err.Error())}
	}
	return nil
}
