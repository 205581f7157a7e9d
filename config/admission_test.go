package config_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/config"
)

// policies reads a file of admission/, which has a policy, a binding or both.
func policies(t *testing.T, file string) (policy *admissionv1.ValidatingAdmissionPolicy, binding *admissionv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	raw, err := config.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var into any
		switch kind.Kind {
		case "ValidatingAdmissionPolicy":
			policy = &admissionv1.ValidatingAdmissionPolicy{}
			into = policy
		case "ValidatingAdmissionPolicyBinding":
			binding = &admissionv1.ValidatingAdmissionPolicyBinding{}
			into = binding
		default:
			t.Fatalf("%s has a %q", file, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return policy, binding
}

// TestVSpherePolicies checks the names and fields by which users know the policies of failure domains.
func TestVSpherePolicies(t *testing.T) {
	for file, want := range map[string]struct {
		name  string
		param admissionv1.ParamKind
	}{
		"vsphere_machine.yaml":    {"vsphere-failure-domain-in-use-by-machine", admissionv1.ParamKind{APIVersion: "machine.openshift.io/v1beta1", Kind: "Machine"}},
		"vsphere_machineset.yaml": {"vsphere-failure-domain-in-use-by-machineset", admissionv1.ParamKind{APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineSet"}},
		"vsphere_cpms.yaml":       {"vsphere-failure-domain-in-use-by-cpms", admissionv1.ParamKind{APIVersion: "machine.openshift.io/v1", Kind: "ControlPlaneMachineSet"}},
	} {
		t.Run(file, func(t *testing.T) {
			policy, binding := policies(t, "admission/"+file)
			wanted := admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: ptr.To(admissionv1.Fail),
				ParamKind:     &want.param,
				MatchConstraints: &admissionv1.MatchResources{MatchPolicy: ptr.To(admissionv1.Equivalent), ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Update},
						Rule:       admissionv1.Rule{APIGroups: []string{"config.openshift.io"}, APIVersions: []string{"v1"}, Resources: []string{"infrastructures"}},
					},
				}}},
			}
			got := policy.Spec.DeepCopy()
			got.MatchConditions, got.Variables, got.Validations = nil, nil, nil
			if diff := cmp.Diff(&wanted, got); diff != "" {
				t.Error(diff)
			}
			if c := policy.Spec.MatchConditions; len(c) != 1 || c[0].Name != "is-vsphere-platform" {
				t.Errorf("match conditions %v", c)
			}
			if v := policy.Spec.Validations; len(v) != 1 || ptr.Deref(v[0].Reason, "") != metav1.StatusReasonInvalid {
				t.Errorf("validations %v", v)
			}
			if diff := cmp.Diff(admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        want.name,
				ParamRef:          &admissionv1.ParamRef{Namespace: "openshift-machine-api", Selector: &metav1.LabelSelector{}, ParameterNotFoundAction: ptr.To(admissionv1.AllowAction)},
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			}, binding.Spec); diff != "" {
				t.Error(diff)
			}
			if policy.Name != want.name || binding.Name != want.name {
				t.Errorf("called %q and %q, want %q", policy.Name, binding.Name, want.name)
			}
		})
	}
}

// TestStrictIsAChoice: all files of admission/ except for one refuse no object of machine.sapcloud.io that is stored by
// default.
func TestStrictIsAChoice(t *testing.T) {
	files, err := fs.Glob(config.FS, "admission/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		policy, binding := policies(t, file)
		ours := policy != nil && strings.Contains(policy.Spec.MatchConstraints.String(), gardenerGroup)
		if ours != (file == "admission/strict_policy.yaml") || ours && binding != nil {
			t.Errorf("%s is about %s: %t; its binding is %v", file, gardenerGroup, ours, binding)
		}
		if binding != nil && (binding.Spec.PolicyName == "millwright-strict") != (file == "admission/strict_binding.yaml") {
			t.Errorf("%s binds %s", file, binding.Spec.PolicyName)
		}
	}
}
