package kubemark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// Default implements [provider.Admitter]. The back end is left open: it is the
// choice of whoever runs the provider.
func (p *Provider) Default(class provider.Class) ([]byte, error) {
	spec, _, err := p.decode(class)
	if err != nil {
		return nil, err
	}
	// What is written stays as it is written.
	fields := map[string]json.RawMessage{}
	if len(class.Spec) > 0 {
		if err := json.Unmarshal(class.Spec, &fields); err != nil {
			return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
		}
	}
	if fields == nil { // a spec of null has no fields, but defaults
		fields = map[string]json.RawMessage{}
	}
	defaults := map[string]any{
		"numCores": defaultCores, "memoryCapacity": defaultMemory, "maxPods": defaultMaxPods, "arch": runtime.GOARCH,
	}
	if spec.Region != "" {
		defaults["region"] = spec.Region
	}
	if spec.Zone != "" {
		defaults["zone"] = spec.Zone
	}
	for name, value := range defaults {
		if _, given := fields[name]; given {
			continue
		}
		if fields[name], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode the default of %s: %w", name, err)
		}
	}
	return json.Marshal(fields)
}

// Validate implements [provider.Admitter].
func (p *Provider) Validate(class provider.Class) (warnings []string, err error) {
	_, warnings, err = p.decode(class)
	return warnings, err
}

// mutable are the fields that say nothing about an instance that runs.
var mutable = []string{
	"apiVersion", "kind", "metadata", "tags", "readLag", "createFailureRate", "deleteFailureRate", "quota",
	"callsPerSecond", "userDataSecret", "credentialsSecret", "image",
}

// Immutable implements [provider.Admitter].
func (p *Provider) Immutable(was, now provider.Class) error {
	before, err := p.fields(was)
	if err != nil {
		return fmt.Errorf("decode the spec as it was: %w", err)
	}
	after, err := p.fields(now)
	if err != nil {
		return err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(mutable, name) || bytes.Equal(before[name], after[name]) {
			continue
		}
		errs = append(errs, provider.InvalidField(name, "cannot change from %s to %s in an instance that runs",
			orAbsent(before[name]), orAbsent(after[name])))
	}
	return errors.Join(errs...)
}

func orAbsent(raw json.RawMessage) string {
	if raw == nil {
		return "nothing"
	}
	return string(raw)
}

// fields are the fields of a spec with defaults, each in its one spelling.
func (p *Provider) fields(class provider.Class) (map[string]json.RawMessage, error) {
	spec, _, err := p.decode(class)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode the provider spec: %w", err)
	}
	fields := map[string]json.RawMessage{}
	return fields, json.Unmarshal(raw, &fields)
}
