package controlplanemachineset

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TestClusterOperator: the ClusterOperator shows the conditions of an active set.
func TestClusterOperator(t *testing.T) {
	s := newStage(t)
	dir := filepath.Join(published(t), "config/v1/zz_generated.crd-manifests")
	crds, err := envtest.InstallCRDs(devplaneConfig(t), envtest.CRDInstallOptions{Paths: []string{
		filepath.Join(dir, "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml"),
		filepath.Join(dir, "0000_10_config-operator_01_infrastructures-Default.crd.yaml"),
	}, MaxTime: time.Minute})
	s.must(err)
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: OperatorName}}
	s.must(s.Create(t.Context(), co))
	t.Cleanup(func() {
		for _, crd := range crds {
			_ = s.Delete(context.Background(), crd)
		}
	})
	said := func() string {
		s.must(s.Get(t.Context(), client.ObjectKeyFromObject(co), co))
		out := map[configv1.ClusterStatusConditionType]string{}
		for _, c := range co.Status.Conditions {
			out[c.Type] = string(c.Status) + " " + c.Reason
		}
		raw, err := json.Marshal(out)
		s.must(err)
		return string(raw)
	}
	s.pass()
	const well = `{"Available":"True AsExpected","Degraded":"False AsExpected","Progressing":"False AsExpected","Upgradeable":"True AsExpected"}`
	if got := said(); got != well || co.Status.Versions[0].Version != "1.2.3" || len(co.Status.RelatedObjects) != 3 {
		t.Errorf("without a set: %s, %v", got, co.Status)
	}
	s.masters("a", "b")
	s.set(nil)
	s.pass()
	if got := said(); got != `{"Available":"False UnavailableReplicas","Degraded":"False AsExpected","Progressing":"True NeedsUpdateReplicas","Upgradeable":"False AsExpected"}` {
		t.Errorf("a machine is missing: %s", got)
	}
	version := co.ResourceVersion
	s.settle(nil)
	if got := said(); got != `{"Available":"True AllReplicasAvailable","Degraded":"False AsExpected","Progressing":"False AllReplicasUpdated","Upgradeable":"True AsExpected"}` || co.ResourceVersion == version {
		t.Errorf("at rest: %s", got)
	}
	version = co.ResourceVersion
	s.pass()
	if said(); co.ResourceVersion != version {
		t.Error("an unchanged status is written again")
	}

	// K19: an error that ends every pass is not hidden.
	s.options.Defaults = func(context.Context) (Filler, error) { return nil, errors.New("webhooks are unknown") }
	s.r = New(s.options)
	for range mostErrors {
		if _, err := s.r.Reconcile(t.Context(), s.request()); err == nil {
			t.Fatal("no error")
		}
	}
	if got := said(); !strings.Contains(got, `"Degraded":"True ContinuousErrors"`) {
		t.Errorf("every pass fails: %s", got)
	}
	s.r.Options.Defaults = New(Options{}).Options.Defaults
	s.pass()
	if got := said(); !strings.Contains(got, `"Degraded":"False AsExpected"`) {
		t.Errorf("the error is over: %s", got)
	}
}
