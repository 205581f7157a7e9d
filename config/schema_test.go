package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// quantity is the only pattern in the schemas of machine.sapcloud.io: it comes with every resource quantity.
const quantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// refusals names what a schema would refuse, or change, that the original schema of machine.sapcloud.io stores as it is.
func refusals(schema *apiextensionsv1.JSONSchemaProps) []string {
	found := map[string]bool{
		"default":    schema.Default != nil,
		"enum":       schema.Enum != nil,
		"minimum":    schema.Minimum != nil,
		"maximum":    schema.Maximum != nil,
		"minLength":  schema.MinLength != nil,
		"maxLength":  schema.MaxLength != nil,
		"minItems":   schema.MinItems != nil,
		"maxItems":   schema.MaxItems != nil,
		"pattern":    schema.Pattern != "" && schema.Pattern != quantity,
		"validation": len(schema.XValidations) != 0,
	}
	var names []string
	for name, yes := range found {
		if yes {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// walk calls visit for a schema and everything below it, with its path: fields joined by dots, [] for items, {} for values.
func walk(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(path string, schema *apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	for name := range schema.Properties {
		child := schema.Properties[name]
		walk(strings.TrimPrefix(path+"."+name, "."), &child, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(path+"{}", schema.AdditionalProperties.Schema, visit)
	}
}

func gardenerSchemas(t *testing.T, visit func(kind, path string, schema *apiextensionsv1.JSONSchemaProps)) {
	t.Helper()
	for _, crd := range crds(t) {
		if crd.Spec.Group != gardenerGroup {
			continue
		}
		if len(crd.Spec.Versions) != 1 {
			t.Fatalf("%s has %d versions", crd.Name, len(crd.Spec.Versions))
		}
		walk("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
			visit(crd.Spec.Names.Kind, path, schema)
		})
	}
}

func TestGardenerSchemaRefusesNothingTheOriginalStores(t *testing.T) {
	visited := 0
	gardenerSchemas(t, func(kind, path string, schema *apiextensionsv1.JSONSchemaProps) {
		visited++
		if found := refusals(schema); len(found) != 0 {
			t.Errorf("%s %s has %v", kind, path, found)
		}
	})
	if visited < 100 {
		t.Errorf("only %d fields were looked at", visited)
	}
}

func TestRefusalsAreSeen(t *testing.T) {
	one, length := 1.0, int64(1)
	cases := map[string]apiextensionsv1.JSONSchemaProps{
		"default":    {Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
		"enum":       {Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}}},
		"minimum":    {Minimum: &one},
		"maximum":    {Maximum: &one},
		"minLength":  {MinLength: &length},
		"maxLength":  {MaxLength: &length},
		"minItems":   {MinItems: &length},
		"maxItems":   {MaxItems: &length},
		"pattern":    {Pattern: "^a$"},
		"validation": {XValidations: apiextensionsv1.ValidationRules{{Rule: "true"}}},
	}
	for name, schema := range cases {
		parent := &apiextensionsv1.JSONSchemaProps{
			Properties: map[string]apiextensionsv1.JSONSchemaProps{"field": schema},
		}
		var got []string
		walk("", parent, func(_ string, schema *apiextensionsv1.JSONSchemaProps) { got = append(got, refusals(schema)...) })
		if diff := cmp.Diff([]string{name}, got); diff != "" {
			t.Errorf("a schema with %s:\n%s", name, diff)
		}
	}
}

func TestGardenerRequiredFields(t *testing.T) {
	want := map[string][]string{
		"MachineClass":                            {"providerSpec"},
		"MachineClass nodeTemplate":               {"capacity", "instanceType", "region", "zone"},
		"MachineDeployment spec":                  {"template"},
		"Machine status.conditions[]":             {"status", "type"},
		"MachineSet status.machineSetCondition[]": {"status", "type"},
		"MachineDeployment status.conditions[]":   {"status", "type"},
	}
	got := map[string][]string{}
	gardenerSchemas(t, func(kind, path string, schema *apiextensionsv1.JSONSchemaProps) {
		if len(schema.Required) != 0 && !isCoreType(path) {
			got[strings.TrimSpace(kind+" "+path)] = schema.Required
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("required fields (-want +got):\n%s", diff)
	}
}

// isCoreType reports whether a path is inside a type of the core API, which brings its own required fields.
func isCoreType(path string) bool {
	return slices.ContainsFunc([]string{"matchExpressions[]", "taints[]", "configSource.configMap", "addresses[]"}, func(suffix string) bool {
		return strings.HasSuffix(path, suffix)
	})
}

func TestGardenerKeepsUnknownFields(t *testing.T) {
	want := []string{
		"Machine spec.nodeTemplate.metadata",
		"MachineClass nodeTemplate",
		"MachineClass providerSpec",
		"MachineDeployment spec.template.metadata",
		"MachineDeployment spec.template.spec.nodeTemplate.metadata",
		"MachineSet spec.template.metadata",
		"MachineSet spec.template.spec.nodeTemplate.metadata",
	}
	var got []string
	gardenerSchemas(t, func(kind, path string, schema *apiextensionsv1.JSONSchemaProps) {
		if schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
			got = append(got, kind+" "+path)
		}
	})
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places that keep unknown fields (-want +got):\n%s", diff)
	}
}
