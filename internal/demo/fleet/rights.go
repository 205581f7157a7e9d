package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/config"
)

// roles is the folder of config/rbac with the roles of a program. A fleet's
// controllers have only the shipped rights, so that a missing right shows up
// here.
func roles(program string) string {
	if program == Sets {
		return Sets
	}
	return "machine-controller"
}

// Kubeconfig is the kubeconfig file of a controller.
func (f *Fleet) Kubeconfig(program string) string {
	return filepath.Join(f.Dir, program+".kubeconfig")
}

// User is the user of a controller.
func User(program string) string { return "millwright:" + program }

// grant creates the user of a controller and writes its kubeconfig.
func (f *Fleet) grant(ctx context.Context, program string) error {
	user := User(program)
	rules, err := shippedRoles(roles(program))
	if err != nil {
		return err
	}
	if roles(program) != Sets {
		budgets, err := budgetRoles()
		if err != nil {
			return err
		}
		rules = append(rules, budgets...)
	}
	if program == Machines && f.options.Backend == "kwok" {
		rules = append(rules, kwokRole())
	}
	for _, role := range rules {
		if err := f.bind(ctx, role, user); err != nil {
			return fmt.Errorf("grant %s the role %s: %w", user, role.GetName(), err)
		}
	}
	if err := f.guard(ctx, roles(program), user); err != nil {
		return fmt.Errorf("keep %s from what its roles cannot: %w", user, err)
	}
	kubeconfig, err := f.Plane.Kubeconfig(user)
	if err != nil {
		return err
	}
	return os.WriteFile(f.Kubeconfig(program), kubeconfig, 0o600)
}

// shippedRoles reads the roles of one binary. It turns the roles of the control namespace
// into roles of the whole cluster, because a fleet has machines in two namespaces.
func shippedRoles(folder string) ([]client.Object, error) {
	files, err := fs.Glob(config.FS, "rbac/"+folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find the roles of %s: %w", folder, err)
	}
	var out []client.Object
	for _, file := range files {
		raw, err := config.FS.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the roles of %s: %w", folder, err)
		}
		roles, err := rolesIn(raw)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, roles...)
	}
	return out, nil
}

// budgetRoles are the roles with which machine controllers use disruption budgets, if a user installs their kind.
func budgetRoles() ([]client.Object, error) {
	raw, err := config.FS.ReadFile("disruption-budgets/rights.yaml")
	if err != nil {
		return nil, err
	}
	all, err := rolesIn(raw)
	return slices.DeleteFunc(all, func(o client.Object) bool { return strings.HasSuffix(o.GetName(), "-view") }), err // it is for users
}

// rolesIn are the roles of a file, in the form for a fleet.
func rolesIn(raw []byte) (out []client.Object, err error) {
	roles, err := config.RolesIn(raw)
	for _, role := range roles {
		meta := metav1.ObjectMeta{Namespace: role.Namespace, Name: "millwright:" + role.Name}
		switch role.Namespace {
		case "":
			out = append(out, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules, AggregationRule: role.AggregationRule})
		case metav1.NamespaceSystem, metav1.NamespaceDefault:
			out = append(out, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules})
		default:
			meta = metav1.ObjectMeta{Name: meta.Name + ":control-namespace"}
			out = append(out, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules})
		}
	}
	return out, err
}

// guard installs the admission policies that restrict the roles of a binary, for the user that
// has the roles here.
func (f *Fleet) guard(ctx context.Context, folder, user string) error {
	policies, err := shippedPolicies(folder, user)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if err := apply(ctx, f.Client, p); err != nil {
			return err
		}
	}
	return nil
}

// shippedPolicies reads the admission policies of one binary, and their bindings.
func shippedPolicies(folder, user string) (out []client.Object, err error) {
	raw, err := config.FS.ReadFile("rbac/" + folder + "/admission.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the admission policy of %s: %w", folder, err)
	}
	raw = bytes.ReplaceAll(raw, []byte("system:serviceaccount:millwright-system:"+folder), []byte(user))
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the admission policy of %s: %w", folder, err)
		}
		out = append(out, object)
	}
}

// kwokRole is for the writes of the kwok back end itself: its instances are nodes.
func kwokRole() client.Object {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "millwright:kwok-instances"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"create", "patch", "delete"}}},
	}
}

// bind creates a role and binds it to the user.
func (f *Fleet) bind(ctx context.Context, role client.Object, user string) error {
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	meta := metav1.ObjectMeta{Namespace: role.GetNamespace(), Name: role.GetName()}
	var binding client.Object = &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	}
	if meta.Namespace != "" {
		binding = &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		}
	}
	return errors.Join(apply(ctx, f.Client, role), apply(ctx, f.Client, binding))
}
