package kubeapi

import (
	"bytes"
	"encoding/json"
)

// Strict decodes an object into the type of its kind, and returns its unknown fields as errors.
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
