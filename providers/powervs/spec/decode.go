package spec

import (
	"bytes"
	"encoding/json"

	machinev1 "github.com/openshift/api/machine/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
)

// decode reads a spec. The original reads it as YAML, and thus takes names of
// fields in any case, and numbers where a text is asked for: what it took must not
// be refused. Unknown fields are left out; the error is Invalid.
func decode(raw []byte) (*machinev1.PowerVSMachineProviderConfig, error) {
	plain, err := normalize(raw)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "read the provider spec: %w", err)
	}
	spec := &machinev1.PowerVSMachineProviderConfig{}
	if err := yaml.Unmarshal(plain, spec); err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	return spec, nil
}

// normalize writes JSON as an API server does: without blanks and surrogate pairs,
// at which YAML ends. Numbers keep their digits.
func normalize(raw []byte) ([]byte, error) {
	if err := json.Unmarshal(raw, &map[string]json.RawMessage{}); err != nil {
		return nil, err
	}
	var whole any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&whole); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// fill sets fields of the spec, and leaves all others as they are.
func fill(raw []byte, defaults map[string]any) ([]byte, error) {
	if len(defaults) == 0 {
		return raw, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, provider.Errorf(provider.Invalid, "read the provider spec: %w", err)
	}
	if fields == nil { // the spec is null
		fields = map[string]json.RawMessage{}
	}
	for name, value := range defaults {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, provider.Errorf(provider.Invalid, "write the default of %s: %w", name, err)
		}
		fields[name] = text
	}
	return json.Marshal(fields)
}
