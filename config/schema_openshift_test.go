package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// field is the schema at a path below the root of a kind of machine.openshift.io.
func field(t *testing.T, crd string, path ...string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	schema := *crds(t)[crd+"."+openshiftGroup].Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range path {
		child, ok := schema.Properties[name]
		if !ok {
			t.Fatalf("%s has no field %s of %v", crd, name, path)
		}
		schema = child
	}
	return schema
}

// What only one of the two kept would make every set differ from its deployment, and so be replaced for ever.
func TestDeploymentAndSetStoreTheSameTemplate(t *testing.T) {
	set, deployment := field(t, "machinesets", "spec", "template"), field(t, "machinedeployments", "spec", "template")
	leftovers := map[string][]string{
		"creationTimestamp": {"metadata"}, "versions": {"spec"}, "configSource": {"spec"}, "valueFrom": {"spec", "providerSpec"},
	}
	for name, path := range leftovers {
		parent := field(t, "machinedeployments", append([]string{"spec", "template"}, path...)...)
		if _, ok := parent.Properties[name]; !ok {
			t.Errorf("%v has no %s: templates of the time before would be refused by strict clients", path, name)
		}
	}
	known := cmpopts.IgnoreMapEntries(func(name string, _ apiextensionsv1.JSONSchemaProps) bool {
		return name == "creationTimestamp" || name == "versions" || name == "configSource" || name == "valueFrom"
	})
	set.Description = deployment.Description
	if diff := cmp.Diff(set, deployment, known); diff != "" {
		t.Errorf("the schemas of the template differ (-set +deployment):\n%s", diff)
	}
}

func TestOwnKindsRefuseNothing(t *testing.T) {
	want := map[string]string{"machinedeployments spec.replicas": "default"}
	visited := 0
	for _, kind := range []string{"machinedeployments", "clusters"} {
		for _, part := range []string{"spec", "status"} {
			schema := field(t, kind, part)
			delete(schema.Properties, "template")   // is as published
			delete(schema.Properties, "conditions") // written by controllers only, with the checks of their type
			walk(part, &schema, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				visited++
				for _, refusal := range refusals(schema) {
					if want[kind+" "+path] != refusal {
						t.Errorf("%s %s has %s", kind, path, refusal)
					}
				}
				if len(schema.Required) > 0 && !isCoreType(path) {
					t.Errorf("%s %s requires %v", kind, path, schema.Required)
				}
			})
		}
	}
	if visited < 40 {
		t.Errorf("only %d fields were looked at", visited)
	}
}
