package operator

import (
	"errors"
	"fmt"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

// TestVersionsOfCRDs: CRDs that are not there, or of another version, are named.
func TestVersionsOfCRDs(t *testing.T) {
	for name, c := range map[string]struct {
		has  groups
		want string
	}{
		"none":    {groups{}, "the cluster has no CRDs of machine.openshift.io/v1beta1"},
		"another": {groups{"machine.openshift.io": {"v1", "v2"}}, "the cluster has CRDs of machine.openshift.io as v1, v2, and not as v1beta1"},
		"ours":    {groups{"machine.openshift.io": {"v1", "v1beta1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.has.check(machinev1.GroupVersion); err != nil {
				got = err.Error()
				if !atOnce(err) {
					t.Errorf("%s: time does not mend that", name)
				}
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

// TestAtOnce: a permanent fault is reported at once, at any level of an error.
func TestAtOnce(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "y", errors.New("no"))
	for name, c := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"fault":     {"bad input", fmt.Errorf("x: %w", operands.Faultf("y")), true},
		"forbidden": {"no right to one of several", errors.Join(errors.New("a"), fmt.Errorf("b: %w", forbidden)), true},
		"conflict":  {"it is tried again", apierrors.NewConflict(schema.GroupResource{}, "y", errors.New("no")), false},
		"other":     {"an API server may be away", errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := atOnce(c.err); got != c.want {
				t.Errorf("%s: %s: %v", name, c.reason, got)
			}
		})
	}
}

// TestForeign: who wrote something that has to go.
func TestForeign(t *testing.T) {
	spec := func(fields string) string { return `{"f:metadata":{"f:labels":{"f:a":{}}},` + fields + `}` }
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	for name, c := range map[string]struct {
		reason      string
		manager     string
		operation   metav1.ManagedFieldsOperationType
		subresource string
		fields      string
		want        bool
	}{
		"ours":        {"that is what is applied", Name, apply, "", spec(`"f:spec":{"f:replicas":{}}`), false},
		"original":    {"it updates, under the same name", Name, update, "", spec(`"f:spec":{"f:replicas":{}}`), true},
		"somebody":    {"an edit", "kubectl-edit", update, "", spec(`"f:spec":{"f:template":{"f:spec":{"f:hostNetwork":{}}}}`), true},
		"applied":     {"another owner", "kubectl", apply, "", spec(`"f:spec":{"f:paused":{}}`), true},
		"scale":       {"replicas are taken back by force", "kubectl", update, "scale", spec(`"f:spec":{"f:replicas":{}}`), false},
		"labels only": {"they are others' to set", "kubectl", update, "", `{"f:metadata":{"f:labels":{"f:a":{}}}}`, false},
		"restart":     {"a restart is no drift", "kubectl-rollout", update, "", `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`, false},
		"bundle":      {"it is the service CA's", "service-ca-operator", update, "", `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`, false},
		"policy":      {"it is not", "x", update, "", `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}},"f:failurePolicy":{}}}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := metav1.ManagedFieldsEntry{Manager: c.manager, Operation: c.operation, Subresource: c.subresource, FieldsV1: &metav1.FieldsV1{Raw: []byte(c.fields)}}
			if got := isForeign(e); got != c.want {
				t.Errorf("%s: %s: %v, want %v", name, c.reason, got, c.want)
			}
		})
	}
}
