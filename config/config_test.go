package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
)

const (
	gardenerGroup  = "machine.sapcloud.io"
	openshiftGroup = "machine.openshift.io"
)

func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range all {
		byName[crd.Name] = crd
	}
	return byName
}

func TestKustomizationListsEveryCRD(t *testing.T) {
	raw, err := config.FS.ReadFile("crd/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(raw, &kustomization); err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range crds(t) {
		plural, group, _ := strings.Cut(name, ".")
		want = append(want, group+"_"+plural+".yaml")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, kustomization.Resources); diff != "" {
		t.Errorf("kustomization.yaml differs from the embedded CRDs (-want +got):\n%s", diff)
	}
}

// TestCategory: `kubectl get millwright` lists the kinds of both APIs. A category must not have the name of a kind, because
// kubectl searches categories first: "kubectl get machines x" would request several kinds, which cannot be combined with a
// name.
func TestCategory(t *testing.T) {
	for name, crd := range crds(t) {
		if diff := cmp.Diff([]string{"millwright"}, crd.Spec.Names.Categories); diff != "" {
			t.Errorf("%s: categories (-want +got):\n%s", name, diff)
		}
	}
}

func TestNames(t *testing.T) {
	cases := []struct {
		crd, kind string
		short     []string
		status    bool
		selector  string
		columns   []string
		reason    string
	}{
		{"machineclasses." + gardenerGroup, "MachineClass", []string{"mcc"}, false, "", nil, "a class has neither status nor columns"},
		{"machines." + gardenerGroup, "Machine", []string{"mc"}, true, "", []string{"Status", "Age", "Node", "ProviderID", "Why"}, "Age stands before Node; the last is ours, with -o wide"},
		{"machinesets." + gardenerGroup, "MachineSet", []string{"mcs"}, true, ".status.labelSelector", []string{"Desired", "Current", "Ready", "Age", "Why"}, "the selector path and the last column are our addition"},
		{"machinedeployments." + gardenerGroup, "MachineDeployment", []string{"mcd"}, true, ".status.labelSelector", []string{"Ready", "Desired", "Up-to-date", "Available", "Age", "Why"}, "the selector path and the last column are our addition"},
		{"machines." + openshiftGroup, "Machine", nil, true, "", []string{"Phase", "Type", "Region", "Zone", "Age", "Node", "ProviderID", "State"}, "as published"},
		{"machinesets." + openshiftGroup, "MachineSet", nil, true, ".status.labelSelector", []string{"Desired", "Current", "Ready", "Available", "Age"}, "as published"},
		{"machinedeployments." + openshiftGroup, "MachineDeployment", []string{"mdp"}, true, ".status.labelSelector", []string{"Desired", "Current", "Ready", "Up-to-date", "Available", "Age", "Why"}, "ours: md is taken by another group"},
		{"clusters." + openshiftGroup, "Cluster", nil, true, "", []string{"Age"}, "ours: cl is taken by another group"},
		{"machinehealthchecks.healthchecking.openshift.io", "MachineHealthCheck", nil, true, "", []string{"ExpectedMachines", "CurrentHealthy", "Why"}, "ours: short names belong to the kind that took its place"},
		{"machinehealthchecks." + openshiftGroup, "MachineHealthCheck", []string{"mhc", "mhcs"}, true, "", []string{"MaxUnhealthy", "ExpectedMachines", "CurrentHealthy"}, "as published"},
	}
	all := crds(t)
	if len(all) != len(cases) {
		t.Errorf("%d CRDs are embedded, %d are expected", len(all), len(cases))
	}
	for _, c := range cases {
		t.Run(c.crd, func(t *testing.T) {
			crd := all[c.crd]
			if crd == nil {
				t.Fatal("is not embedded")
			}
			version := crd.Spec.Versions[0]
			if crd.Spec.Names.Kind != c.kind || crd.Spec.Names.ListKind != c.kind+"List" || crd.Spec.Names.Singular != strings.ToLower(c.kind) {
				t.Errorf("names are %+v", crd.Spec.Names)
			}
			if diff := cmp.Diff(c.short, crd.Spec.Names.ShortNames); diff != "" {
				t.Errorf("short names (%s):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.columns, columns(version)); diff != "" {
				t.Errorf("printer columns (%s):\n%s", c.reason, diff)
			}
			if got := version.Subresources != nil && version.Subresources.Status != nil; got != c.status {
				t.Errorf("status subresource is %v (%s)", got, c.reason)
			}
			if got := selectorPath(version); got != c.selector {
				t.Errorf("scale selector path is %q, not %q (%s)", got, c.selector, c.reason)
			}
		})
	}
}

func columns(version apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var names []string
	for _, column := range version.AdditionalPrinterColumns {
		if column.Name == "Why" && column.Priority == 0 {
			names = append(names, "(narrow)") // sentences are for -o wide
		}
		names = append(names, column.Name)
	}
	return names
}

func selectorPath(version apiextensionsv1.CustomResourceDefinitionVersion) string {
	if version.Subresources == nil || version.Subresources.Scale == nil || version.Subresources.Scale.LabelSelectorPath == nil {
		return ""
	}
	return *version.Subresources.Scale.LabelSelectorPath
}
