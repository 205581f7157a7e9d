package fleet

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestShippedRoles: a fleet's controllers have all shipped rights, including those that
// users extend, and the objects are roles only.
func TestShippedRoles(t *testing.T) {
	roles, err := shippedRoles("machine-controller-manager")
	if err != nil {
		t.Fatal(err)
	}
	var aggregated, own int
	leads := false
	for _, o := range roles {
		switch role := o.(type) {
		case *rbacv1.ClusterRole:
			leads = leads || slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
				return slices.Contains(r.Resources, "leases") && slices.Contains(r.Verbs, "create")
			})
			if role.AggregationRule != nil {
				aggregated++
			} else if len(role.Rules) > 0 {
				own++
			}
		case *rbacv1.Role:
			own++
		default:
			t.Errorf("%T %s is no role", o, o.GetName())
		}
	}
	if !leads {
		t.Error("no role lets it lead under a lease")
	}
	if aggregated != 1 || own < 2 {
		t.Errorf("%d aggregated roles and %d others, want 1 and at least the cluster's and the control namespace's", aggregated, own)
	}
}
