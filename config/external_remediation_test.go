package config_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// shippedAggregate reads the role that aggregates the rights for the kinds of users, and its binding.
func shippedAggregate(t *testing.T) (role rbacv1.ClusterRole, binding rbacv1.RoleBinding) {
	t.Helper()
	raw, err := os.ReadFile("rbac/machine-controller-manager/role_external_remediation.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(raw, []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d objects, want a role and its binding", len(documents))
	}
	for i, into := range []any{&role, &binding} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			t.Fatal(err)
		}
	}
	return role, binding
}

// aggregates reports whether the control plane would add the rules of a ClusterRole with the given labels to another.
func aggregates(t *testing.T, into *rbacv1.ClusterRole, set map[string]string) bool {
	t.Helper()
	return into.AggregationRule != nil && slices.ContainsFunc(into.AggregationRule.ClusterRoleSelectors, func(s metav1.LabelSelector) bool {
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(set))
	})
}

func TestRowsOfExternalRemediation(t *testing.T) {
	role, _ := shippedAggregate(t)
	for _, c := range []struct {
		name   string
		labels map[string]string
		want   bool
	}{
		{"spec 1.5: rbac.ext-remediation/aggregate-to-ext-remediation = true aggregates permissions for external remediation kinds", map[string]string{"rbac.ext-remediation/aggregate-to-ext-remediation": "true"}, true},
		{"ours", map[string]string{"millwright.dev/aggregate-to-external-remediation": "true"}, true},
		{"ours, among others", map[string]string{"millwright.dev/aggregate-to-external-remediation": "true", "a": "b"}, true},
		{"ours, switched off", map[string]string{"millwright.dev/aggregate-to-external-remediation": "false"}, false},
		{"a role that says nothing: else every role would be ours", nil, false},
		{"a role for something else", map[string]string{"rbac.authorization.k8s.io/aggregate-to-admin": "true"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := aggregates(t, &role, c.labels); got != c.want {
				t.Errorf("aggregated: %v", got)
			}
		})
	}
}

// Rights that users define apply in the namespace of the machines, and nowhere else.
func TestExternalRemediationIsBoundToTheNamespace(t *testing.T) {
	role, binding := shippedAggregate(t)
	if len(role.Rules) > 0 {
		t.Errorf("the control plane overwrites these rules: %v", role.Rules)
	}
	if want := (rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}); binding.Kind != "RoleBinding" || binding.RoleRef != want {
		t.Errorf("%s of %+v", binding.Kind, binding.RoleRef)
	}
	if s := binding.Subjects; binding.Namespace != "millwright-system" || len(s) != 1 || s[0].Name != "machine-controller-manager" || s[0].Namespace != binding.Namespace {
		t.Errorf("in %s for %+v", binding.Namespace, s)
	}
}

// The ClusterRole on the page works: it is aggregated, and grants the rights that a health check needs for templates and
// requests.
func TestExternalRemediationAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/external-remediation.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown rbacv1.ClusterRole
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.Contains(text, "kind: ClusterRole") {
			if err := yaml.UnmarshalStrict([]byte(text), &shown); err != nil {
				t.Fatal(err)
			}
		}
	}
	role, _ := shippedAggregate(t)
	if !aggregates(t, &role, shown.Labels) {
		t.Errorf("labels %v", shown.Labels)
	}
	verbs := map[string][]string{}
	for _, rule := range shown.Rules {
		for _, resource := range rule.Resources {
			verbs[resource] = append(verbs[resource], rule.Verbs...)
		}
	}
	for resource, want := range map[string][]string{
		"metal3remediationtemplates": {"get"}, "metal3remediations": {"get", "list", "create", "delete"},
	} {
		if !slices.Equal(verbs[resource], want) {
			t.Errorf("%s: %v, want %v", resource, verbs[resource], want)
		}
	}
}
