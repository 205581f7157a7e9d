package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// A granted is a Role or ClusterRole of one component; cluster roles have no namespace.
type granted struct {
	component string
	rbacv1.Role
}

// grants reads every role of config/rbac, and the roles that bindings refer to as kind/namespace/name. A ClusterRole may be bound
// within a namespace, and has none.
func grants(t *testing.T) (roles []granted, bound []string) {
	t.Helper()
	files, err := filepath.Glob("rbac/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no manifests: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(raw, []byte("\n---\n")) {
			var object struct {
				rbacv1.Role
				RoleRef rbacv1.RoleRef `json:"roleRef"`
			}
			if err := yaml.Unmarshal(document, &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch object.Kind {
			case "Role", "ClusterRole":
				roles = append(roles, granted{filepath.Base(filepath.Dir(file)), object.Role})
			case "RoleBinding", "ClusterRoleBinding":
				namespace := object.Namespace
				if object.RoleRef.Kind == "ClusterRole" {
					namespace = ""
				}
				bound = append(bound, object.RoleRef.Kind+"/"+namespace+"/"+object.RoleRef.Name)
			}
		}
	}
	return roles, bound
}

func TestRolesAreNarrow(t *testing.T) {
	roles, _ := grants(t)
	for _, role := range roles {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") {
				t.Errorf("%s %s grants everything of something: %v", role.Kind, role.Name, rule)
			}
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			if role.Namespace == "" {
				t.Errorf("%s %s reaches secrets of the whole cluster", role.Kind, role.Name)
			}
			if slices.Contains(rule.Verbs, "list") || slices.Contains(rule.Verbs, "watch") {
				t.Errorf("%s %s lists secrets: read them by name", role.Kind, role.Name)
			}
			if role.component == "machine-controller-manager" {
				t.Errorf("%s %s reaches secrets and needs none", role.Kind, role.Name)
			}
		}
	}
}

func TestEveryRoleIsBound(t *testing.T) {
	roles, bound := grants(t)
	var names []string
	for _, role := range roles {
		names = append(names, role.Kind+"/"+role.Namespace+"/"+role.Name)
	}
	slices.Sort(names)
	slices.Sort(bound)
	if !slices.Equal(names, bound) {
		t.Errorf("roles and bindings differ:\nroles    %v\nbindings %v", names, bound)
	}
}

func TestKustomizationsListWhatIsThere(t *testing.T) {
	files, err := filepath.Glob("rbac/*/kustomization.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	for _, file := range append(files, "rbac/kustomization.yaml", "crd/kustomization.yaml", "webhook/kustomization.yaml", "termination-handler/kustomization.yaml") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kustomization struct {
			APIVersion string   `json:"apiVersion"`
			Kind       string   `json:"kind"`
			Resources  []string `json:"resources"`
		}
		if err := yaml.UnmarshalStrict(raw, &kustomization); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		manifests, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, manifest := range manifests {
			if name := filepath.Base(manifest); name != "kustomization.yaml" && !slices.Contains(kustomization.Resources, name) {
				t.Errorf("%s leaves out %s", file, name)
			}
		}
		for _, resource := range kustomization.Resources {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), resource)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
