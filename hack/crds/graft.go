package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	scion = "machine.openshift.io_machinesets.yaml"
	stock = "machine.openshift.io_machinedeployments.yaml"
)

// templateOf is the path of the template in the schema of a set or a deployment.
var templateOf = []string{"properties", "spec", "properties", "template"}

// leftovers are fields in templates of early MachineDeployments, by the path of their parent. They are stored and have no
// effect. Without them, clients with strict validation would refuse such a template.
var leftovers = []struct {
	path   []string
	field  string
	schema map[string]any
}{
	{[]string{"metadata"}, "creationTimestamp", map[string]any{"type": "string", "format": "date-time", "nullable": true}},
	{[]string{"spec", "properties", "metadata"}, "creationTimestamp", map[string]any{"type": "string", "format": "date-time", "nullable": true}},
	{[]string{"spec"}, "versions", anything()},
	{[]string{"spec"}, "configSource", anything()},
	{[]string{"spec", "properties", "providerSpec"}, "valueFrom", anything()},
}

func anything() map[string]any {
	return map[string]any{"type": "object", "nullable": true, "x-kubernetes-preserve-unknown-fields": true}
}

// graft replaces the template of our MachineDeployment with the published schema of a MachineSet's template, so that a
// deployment stores the same fields as its sets. A field that only one of them stores would make every set differ from its
// deployment.
func graft(out string) error {
	set, err := read(out, scion)
	if err != nil {
		return err
	}
	deployment, err := read(out, stock)
	if err != nil {
		return err
	}
	from, err := schemaOf(set)
	if err != nil {
		return fmt.Errorf("in %s: %w", scion, err)
	}
	to, err := schemaOf(deployment)
	if err != nil {
		return fmt.Errorf("in %s: %w", stock, err)
	}
	template, found, err := unstructured.NestedMap(from, templateOf...)
	if err != nil {
		return fmt.Errorf("in %s: looking for the template: %w", scion, err)
	}
	if !found {
		return fmt.Errorf("in %s: there is no template", scion)
	}
	template["description"] = "Template is the form of the deployment's machines: that of a MachineSet."
	for _, l := range leftovers {
		path := append(append([]string{"properties"}, l.path...), "properties", l.field)
		l.schema["description"] = "A leftover of an older form. It is stored and has no effect."
		if err := unstructured.SetNestedMap(template, l.schema, path...); err != nil {
			return fmt.Errorf("adding %s to the template: %w", l.field, err)
		}
	}
	if err := unstructured.SetNestedMap(to, template, templateOf...); err != nil {
		return fmt.Errorf("in %s: %w", stock, err)
	}
	raw, err := yaml.Marshal(deployment)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", stock, err)
	}
	if err := os.WriteFile(filepath.Join(out, stock), append([]byte("---\n"), raw...), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", stock, err)
	}
	return nil
}

func read(dir, file string) (map[string]any, error) {
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var manifest map[string]any
	if err := yaml.Unmarshal(raw, &manifest); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", file, err)
	}
	return manifest, nil
}

// schemaOf returns the schema of a manifest's only version. A change of the schema changes the manifest.
func schemaOf(manifest map[string]any) (map[string]any, error) {
	versions, _, err := unstructured.NestedFieldNoCopy(manifest, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("looking for the version: %w", err)
	}
	list, ok := versions.([]any)
	if !ok || len(list) != 1 {
		return nil, fmt.Errorf("want one version, got %d", len(list))
	}
	version, ok := list[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the version is no object: %v", list[0])
	}
	schema, _, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
	if err != nil {
		return nil, fmt.Errorf("looking for the schema: %w", err)
	}
	found, ok := schema.(map[string]any)
	if !ok {
		return nil, errors.New("the version has no schema")
	}
	return found, nil
}
