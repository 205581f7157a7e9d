package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	machinev1 "github.com/openshift/api/machine/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/provider"
)

// decode reads a spec. The original reads it as YAML, and thus takes names of
// fields in any case, and numbers where a text is asked for: what it took must not
// be refused. Unknown fields are left out; the error is Invalid.
func decode(raw []byte) (*machinev1.NutanixMachineProviderConfig, error) {
	plain, err := normalize(raw)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "read the provider spec: %w", err)
	}
	if err := yaml.Unmarshal(plain, &sizes{}); err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	spec := &machinev1.NutanixMachineProviderConfig{}
	if err := yaml.Unmarshal(plain, spec); err != nil {
		return nil, provider.Errorf(provider.Invalid, "decode the provider spec: %w", err)
	}
	return spec, nil
}

// sizes are the quantities of a spec. They are looked at before they are computed:
// 1e999999999 is a number of a billion digits.
type sizes struct {
	MemorySize     size `json:"memorySize"`
	SystemDiskSize size `json:"systemDiskSize"`
	DataDisks      []struct {
		DiskSize size `json:"diskSize"`
	} `json:"dataDisks"`
}

// size is a quantity that takes but a moment to compute.
type size struct{}

// UnmarshalJSON keeps nothing. The bounds are those of [provider.DecodeStrict].
func (*size) UnmarshalJSON(raw []byte) error {
	const mostBytes, mostOfExponent = 100, 3
	text := strings.TrimSpace(strings.Trim(string(raw), `"`))
	exponent := ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent = strings.TrimLeft(text[i+1:], "+-0")
	}
	if len(text) > mostBytes || len(exponent) > mostOfExponent {
		return fmt.Errorf("%q is no quantity that can be computed", provider.Clip(text, mostBytes))
	}
	return nil
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
