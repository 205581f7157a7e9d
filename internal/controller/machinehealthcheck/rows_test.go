package machinehealthcheck

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// silenced is a world in which the node of the machine a has been silent for longer than the check lets it.
func silenced(t *testing.T, edit ...func(*lenient.MachineHealthCheck)) *world {
	t.Helper()
	w := newWorld(t, append(pairs("a", "b", "c"), checkOf(edit...))...)
	w.pass()
	w.turns("a", "Unknown")
	w.pass()
	w.step(5*time.Minute + time.Second)
	w.heard()
	return w
}

// TestRemediesThatFailAreTold: section 9.3, the warnings about a machine whose remedy is refused.
func TestRemediesThatFailAreTold(t *testing.T) {
	external := func(c *lenient.MachineHealthCheck) {
		c.Annotations = map[string]string{"machine.openshift.io/remediation-strategy": "external-baremetal"}
	}
	for _, c := range []struct {
		reason string
		edit   []func(*lenient.MachineHealthCheck)
		verb   string
		want   string
	}{
		{"MachineDeletionFailed [Remediate]", nil, "delete", "Warning MachineDeletionFailed/Remediate a: Machine openshift-machine-api/check/a/node-a remediation failed: unable to delete Machine object: a webhook says 100% no"},
		{"ExternalAnnotationFailed [Remediate]", []func(*lenient.MachineHealthCheck){external}, "patch", "Warning ExternalAnnotationFailed/Remediate a: Requesting external remediation of node associated with machine openshift-machine-api/check/a/node-a failed: a webhook says 100% no"},
	} {
		w := silenced(t, c.edit...)
		w.refuses = func(verb string, o client.Object) error {
			if verb == c.verb && o.GetName() == "a" {
				return errors.New("a webhook says 100% no")
			}
			return nil
		}
		if _, err := w.r.Reconcile(t.Context(), request("check")); err == nil {
			t.Errorf("%s: the refusal is swallowed, and so is the next try", c.reason)
		}
		if got := w.heard(); got != c.want {
			t.Errorf("%s: told %q, want %q", c.reason, got, c.want)
		}
		w.refuses = nil
		w.pass()
		if got := w.heard(); !strings.HasPrefix(got, "Normal MachineDeleted/Remediate a: ") && !strings.HasPrefix(got, "Normal ExternalAnnotationAdded/Remediate a: ") {
			t.Errorf("%s: tried again, told %q", c.reason, got)
		}
	}
}

// counts are what the series of a metric about the check come to.
func counts(t *testing.T, r *prometheus.Registry, metric string) (sum float64, series int) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == metric {
			for _, m := range f.GetMetric() {
				sum, series = sum+m.GetCounter().GetValue()+m.GetGauge().GetValue(), series+1
			}
		}
	}
	return sum, series
}

// TestSeriesOfChecks: section 9.1, what is counted of a check. A success is a deletion that the API server took.
func TestSeriesOfChecks(t *testing.T) {
	const covered, successes, circuit = "mapi_machinehealthcheck_nodes_covered", "mapi_machinehealthcheck_remediation_success_total", "mapi_machinehealthcheck_short_circuit"
	w := silenced(t, func(c *lenient.MachineHealthCheck) { c.Spec.MaxUnhealthy = ptr.To(lenient.Amount("1")) })
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	w.must(err)
	w.r.Metrics = m
	expect := func(reason string, want map[string]float64) {
		t.Helper()
		for metric, value := range want {
			if got, n := counts(t, registry, metric); got != value || n > 1 {
				t.Errorf("%s: %s is %v in %d series, want %v", reason, metric, got, n, value)
			}
		}
	}
	w.refuses = func(verb string, _ client.Object) error {
		if verb == "delete" {
			return errors.New("no")
		}
		return nil
	}
	_, _ = w.r.Reconcile(t.Context(), request("check"))
	expect("a deletion that is refused", map[string]float64{covered: 3, successes: 0, circuit: 0})
	w.refuses = nil
	w.pass()
	expect("a deletion", map[string]float64{covered: 3, successes: 1, circuit: 0})
	w.turns("b", corev1.ConditionUnknown)
	w.turns("c", corev1.ConditionUnknown)
	w.pass()
	expect("too many are sick", map[string]float64{covered: 3, successes: 1, circuit: 1})
	w.must(w.Delete(t.Context(), checkOf()))
	w.pass()
	expect("the check is gone", map[string]float64{covered: 0, circuit: 0})
}
