package config_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
)

// TestRolesOfNamespacesCoverEveryKind: users who may view a namespace see each kind in it. Users who may edit it change each
// kind, and scale each kind with a scale subresource. These roles grant nothing else.
func TestRolesOfNamespacesCoverEveryKind(t *testing.T) {
	want := map[string][]string{}
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		resource := crd.Spec.Group + "/" + crd.Spec.Names.Plural
		want["millwright-view"] = append(want["millwright-view"], "get "+resource, "list "+resource, "watch "+resource)
		for _, verb := range []string{"create", "delete", "deletecollection", "patch", "update"} {
			want["millwright-edit"] = append(want["millwright-edit"], verb+" "+resource)
		}
		if s := crd.Spec.Versions[0].Subresources; s != nil && s.Scale != nil {
			want["millwright-edit"] = append(want["millwright-edit"], "get "+resource+"/scale", "patch "+resource+"/scale", "update "+resource+"/scale")
		}
	}
	labels := map[string][]string{
		"millwright-view": {"rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-view"},
		"millwright-edit": {"rbac.authorization.k8s.io/aggregate-to-admin", "rbac.authorization.k8s.io/aggregate-to-edit"},
	}
	raw, err := os.ReadFile("rbac/aggregate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(document, &role); err != nil {
			t.Fatal(err)
		}
		var granted, labelled []string
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted = append(granted, verb+" "+group+"/"+resource)
					}
				}
			}
		}
		for label := range role.Labels {
			labelled = append(labelled, label)
		}
		for _, list := range [][]string{granted, labelled, want[role.Name]} {
			slices.Sort(list)
		}
		if !slices.Equal(granted, want[role.Name]) || !slices.Equal(labelled, labels[role.Name]) {
			t.Errorf("%s grants\n%q, want\n%q; its labels are %q", role.Name, granted, want[role.Name], labelled)
		}
		delete(want, role.Name)
	}
	if len(want) > 0 {
		t.Errorf("there are no roles for %d of the two", len(want))
	}
}
