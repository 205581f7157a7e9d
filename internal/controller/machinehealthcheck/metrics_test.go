package machinehealthcheck

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/healthchecking/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

const oldForm = "healthchecking.openshift.io/v1alpha1"

// covered is how many machines each series of covered nodes says, by the label
// api_version.
func covered(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	return series(t, r, "mapi_machinehealthcheck_nodes_covered", "api_version")
}

// series is what the series of a metric about the check say, by one of their labels.
func series(t *testing.T, r *prometheus.Registry, metric, by string) map[string]float64 {
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
			if f.GetName() == metric && labels["name"] == "check" && labels["namespace"] == ns {
				out[labels[by]] = m.GetGauge().GetValue()
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

// TestMetricOfStorms: the metric shows storms, and whether they stop the remedies of any machine, until
// their cooldown is over.
func TestMetricOfStorms(t *testing.T) {
	raging, over, past := storming("bad"), storming("older"), storming("oldest")
	over.Over, past.Over = begin.Add(-4*time.Minute), begin.Add(-24*time.Hour)
	for _, c := range []struct {
		reason string
		check  client.Object
		want   map[string]float64
	}{
		{"calm", checkNamed("check"), map[string]float64{"report": 0, "enforce": 0}},
		{"a storm that has just ended", checkNamed("check", inStorm(over)), map[string]float64{"report": 0, "enforce": 1}},
		{"one of long ago", checkNamed("check", inStorm(past)), map[string]float64{"report": 0, "enforce": 0}},
		{"two, by a check that only reports", checkNamed("check", inStorm(raging, over), annotated(dialect.BreakerAnnotation, "report")), map[string]float64{"report": 2, "enforce": 0}},
		{"none is looked for", checkNamed("check", inStorm(raging), annotated(dialect.BreakerAnnotation, "off")), map[string]float64{"report": 0, "enforce": 0}},
	} {
		w := newWorld(t, append(pairs("a", "b"), c.check)...)
		registry := prometheus.NewRegistry()
		m, err := NewMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		w.r.Metrics = m
		_, err = w.r.Reconcile(t.Context(), request("check"))
		w.must(err)
		if got := series(t, registry, "millwright_machinehealthcheck_storms", "mode"); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.reason, got, c.want)
		}
		w.must(w.Delete(t.Context(), c.check))
		_, err = w.r.Reconcile(t.Context(), request("check"))
		w.must(err)
		if got := series(t, registry, "millwright_machinehealthcheck_storms", "mode"); len(got) > 0 {
			t.Errorf("%s: the check is gone, and its series say %v", c.reason, got)
		}
	}
}
