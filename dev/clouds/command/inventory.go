package command

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Inventory is the sample with what the file of the command line says instead: a list there replaces that of the
// sample as a whole. An unknown field is an error.
func Inventory[T any](o Options, sample T) (T, error) {
	if o.Inventory == nil {
		return sample, nil
	}
	if err := yaml.UnmarshalStrict(o.Inventory, &sample); err != nil {
		return sample, fmt.Errorf("read the inventory: %w", err)
	}
	return sample, nil
}
