package command

import (
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

// Inventory is the sample, with the fields of the command line's file replaced: a list replaces the sample's
// list as a whole. An unknown field is an error.
func Inventory[T any](o Options, sample T) (T, error) {
	if o.Inventory == nil {
		return sample, nil
	}
	all, err := completed(o.Inventory, sample)
	if err != nil {
		return sample, fmt.Errorf("read the inventory: %w", err)
	}
	var out T
	if err := yaml.UnmarshalStrict(all, &out); err != nil {
		return sample, fmt.Errorf("read the inventory: %w", err)
	}
	return out, nil
}

// completed adds the sample's fields to a document that lacks them.
func completed(document []byte, sample any) ([]byte, error) {
	usual, err := json.Marshal(sample)
	if err != nil {
		return nil, err
	}
	var fields, own map[string]json.RawMessage
	if err := json.Unmarshal(usual, &fields); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(document, &own); err != nil {
		return nil, err
	}
	maps.Copy(fields, own)
	return json.Marshal(fields)
}
