package machinehealthcheck

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
)

const oldForm = "healthchecking.openshift.io/v1alpha1"

// covered is how many machines each series of covered nodes says, by the label
// api_version.
func covered(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "mapi_machinehealthcheck_nodes_covered" && labels["name"] == "check" && labels["namespace"] == ns {
				out[labels["api_version"]] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// TestMetricsOfBothForms: two checks of one name, one of each form, have series of their
// own. What is said of one ends with it, and only that.
func TestMetricsOfBothForms(t *testing.T) {
	current := checkOf()
	old := &v1alpha1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "check", UID: "old"}}
	old.Spec.Selector.MatchLabels = map[string]string{"role": "nobody"}
	w := newWorld(t, append(pairs("a", "b"), current, old)...)
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	w.r.Metrics, w.old.Metrics = m, m.Of(oldForm)
	pass := func() {
		t.Helper()
		_, err := w.r.Reconcile(t.Context(), request("check"))
		w.must(err)
		_, err = w.old.Reconcile(t.Context(), request("check"))
		w.must(err)
	}
	for _, c := range []struct {
		reason string
		gone   client.Object
		want   map[string]float64
	}{
		{"both are there", nil, map[string]float64{"": 2, oldForm: 0}},
		{"the older form is gone", old, map[string]float64{"": 2}},
		{"both are gone", current, map[string]float64{}},
	} {
		if c.gone != nil {
			w.must(w.Delete(t.Context(), c.gone))
		}
		pass()
		if got := covered(t, registry); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
	}
}
