package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/millwright-dev/millwright/config"
)

// TestWebhooks: names, paths, operations and the service are those of the original, section 6.1. No request fails because a
// webhook is down.
func TestWebhooks(t *testing.T) {
	type row struct{ Configuration, Name, Path, Resource string }
	const created, changed, deleted = "CREATE", "CREATE,UPDATE", "DELETE"
	want := map[row]string{
		{"machine-api", "default.machine.machine.openshift.io", "/mutate-machine-openshift-io-v1beta1-machine", "machine.openshift.io/v1beta1 machines"}:                                                               created,
		{"machine-api", "default.machineset.machine.openshift.io", "/mutate-machine-openshift-io-v1beta1-machineset", "machine.openshift.io/v1beta1 machinesets"}:                                                      created,
		{"machine-api", "validation.machine.machine.openshift.io", "/validate-machine-openshift-io-v1beta1-machine", "machine.openshift.io/v1beta1 machines"}:                                                          changed,
		{"machine-api", "validation.machineset.machine.openshift.io", "/validate-machine-openshift-io-v1beta1-machineset", "machine.openshift.io/v1beta1 machinesets"}:                                                 changed,
		{"millwright-warnings", "warning.machinedeployment.machine.openshift.io", "/warn-machine-openshift-io-v1beta1-machinedeployment", "machine.openshift.io/v1beta1 machinedeployments"}:                           changed,
		{"millwright-warnings", "warning.machinehealthcheck.machine.openshift.io", "/warn-machine-openshift-io-v1beta1-machinehealthcheck", "machine.openshift.io/v1beta1 machinehealthchecks"}:                        changed,
		{"millwright-warnings", "warning.machinehealthcheck.healthchecking.openshift.io", "/warn-healthchecking-openshift-io-v1alpha1-machinehealthcheck", "healthchecking.openshift.io/v1alpha1 machinehealthchecks"}: changed,
		{"millwright-warnings", "warning.machinedeployment.machine.sapcloud.io", "/warn-machine-sapcloud-io-v1alpha1-machinedeployment", "machine.sapcloud.io/v1alpha1 machinedeployments"}:                            changed,
		{"millwright-warnings", "warning.machineclass.machine.sapcloud.io", "/warn-machine-sapcloud-io-v1alpha1-machineclass", "machine.sapcloud.io/v1alpha1 machineclasses"}:                                          changed,
		{"millwright-warnings", "deletion.machine.machine.openshift.io", "/delete-machine-openshift-io-v1beta1-machine", "machine.openshift.io/v1beta1 machines"}:                                                      deleted,
		{"millwright-warnings", "deletion.machine.machine.sapcloud.io", "/delete-machine-sapcloud-io-v1alpha1-machine", "machine.sapcloud.io/v1alpha1 machines"}:                                                       deleted,
	}
	got := map[row]string{}
	add := func(configuration, name string, call admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations, common ...any) {
		effects := admissionregistrationv1.SideEffectClassNone
		if strings.HasPrefix(name, "deletion.") { // it records an event
			effects = admissionregistrationv1.SideEffectClassNoneOnDryRun
		}
		if diff := cmp.Diff([]any{admissionregistrationv1.Ignore, admissionregistrationv1.Equivalent, effects, []string{"v1"}}, common); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		s := call.Service
		if s == nil || s.Namespace != "openshift-machine-api" || s.Name != "machine-api-operator-webhook" || *s.Port != 443 || call.CABundle != nil {
			t.Errorf("%s is called at %+v", name, call)
		}
		for _, r := range rules {
			operations := ""
			for i, o := range r.Operations {
				if i > 0 {
					operations += ","
				}
				operations += string(o)
			}
			// All rules: otherwise the API server would also call the webhook for a resource like machines/status, or for
			// another version.
			of := strings.Join(r.APIGroups, ",") + "/" + strings.Join(r.APIVersions, ",") + " " + strings.Join(r.Resources, ",")
			got[row{configuration, name, *s.Path, of}] = operations
		}
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range mutating {
		for _, w := range c.Webhooks {
			add(c.Name, w.Name, w.ClientConfig, w.Rules, *w.FailurePolicy, *w.MatchPolicy, *w.SideEffects, w.AdmissionReviewVersions)
		}
	}
	for _, c := range validating {
		for _, w := range c.Webhooks {
			add(c.Name, w.Name, w.ClientConfig, w.Rules, *w.FailurePolicy, *w.MatchPolicy, *w.SideEffects, w.AdmissionReviewVersions)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}
