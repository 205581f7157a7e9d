package cloud_test

import (
	"encoding/json"
	"testing"
)

// merged is a JSON merge patch of a spec.
func merged(t *testing.T, spec []byte, patch string) []byte {
	t.Helper()
	var into, from map[string]any
	for raw, tree := range map[string]*map[string]any{string(spec): &into, patch: &from} {
		if err := json.Unmarshal([]byte(raw), tree); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
	}
	out, err := json.Marshal(merge(into, from))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func merge(into, from map[string]any) map[string]any {
	for key, value := range from {
		inner, isObject := value.(map[string]any)
		old, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			into[key] = merge(old, inner)
		default:
			into[key] = value
		}
	}
	return into
}
