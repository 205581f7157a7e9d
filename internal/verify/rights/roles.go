package rights

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/config"
)

// Right is one verb on one resource that a role gives to the account of a folder of config/rbac.
type Right struct {
	Account, Role, Namespace string
	Verb, Group, Resource    string
	// Names are the objects that the right is about; empty for all.
	Names []string
}

// String is the right as a table of them has it.
func (r Right) String() string {
	where := ""
	if r.Namespace != "" {
		where = " in " + r.Namespace
	}
	return fmt.Sprintf("%s: %s %s%s (role %s)", r.Account, r.Verb, resource(r.Group, r.Resource), where, r.Role)
}

// covers is true where the request needs a right like this one. Roles of the programs' own namespace count in each but kube-system,
// because a fleet on this machine keeps machines in two.
func (r Right) covers(q Request) bool {
	return r.Account == q.Account && r.Verb == q.Verb && r.Group == q.Group && r.Resource == q.Resource &&
		(r.Namespace != metav1.NamespaceSystem || q.Namespace == metav1.NamespaceSystem) &&
		(len(r.Names) == 0 || slices.Contains(r.Names, q.Name))
}

// Shipped reads the rights of each account from the roles in rbac/*/*.yaml.
func Shipped(files fs.FS) ([]Right, error) {
	names, err := fs.Glob(files, "rbac/*/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find roles: %w", err)
	}
	var out []Right
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read roles: %w", err)
		}
		rights, err := rightsIn(raw, path.Base(path.Dir(name)))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		out = append(out, rights...)
	}
	if len(out) == 0 {
		return nil, errors.New("read roles: rbac/ has no roles")
	}
	return out, nil
}

func rightsIn(raw []byte, account string) (out []Right, err error) {
	roles, err := config.RolesIn(raw)
	for _, role := range roles {
		for _, rule := range role.Rules {
			out = append(out, each(rule, Right{Account: account, Role: role.Name, Namespace: role.Namespace})...)
		}
	}
	return out, err
}

// each has a right for each verb and resource of a rule.
func each(rule rbacv1.PolicyRule, like Right) (out []Right) {
	like.Names = rule.ResourceNames
	for _, like.Group = range rule.APIGroups {
		for _, like.Resource = range rule.Resources {
			for _, like.Verb = range rule.Verbs {
				out = append(out, like)
			}
		}
	}
	return out
}
