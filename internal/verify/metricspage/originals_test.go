package metricspage

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/internal/controller/machine"
)

// TestSeriesOfOpenShift: section 9.1 of the OpenShift notes, the type and the labels of each metric. Dashboards and alerts of others go by them.
// The label api_version of health checks is empty. Prometheus treats an empty label as missing.
func TestSeriesOfOpenShift(t *testing.T) {
	const group = "name,namespace"
	compare(t, []entry{
		{name: "mapi_machine_items", kind: "gauge"},
		{name: "mapi_machineset_items", kind: "gauge"},
		{name: "mapi_machine_created_timestamp_seconds", kind: "gauge", labels: group + ",spec_provider_id,node,api_version,phase"},
		{name: "mapi_machineset_created_timestamp_seconds", kind: "gauge", labels: group + ",api_version"},
		{name: "mapi_machine_set_status_replicas", kind: "gauge", labels: group},
		{name: "mapi_machine_set_status_replicas_available", kind: "gauge", labels: group},
		{name: "mapi_machine_set_status_replicas_ready", kind: "gauge", labels: group},
		{name: "mapi_mao_collector_up", kind: "gauge", labels: "kind"},
		{name: "mapi_instance_create_failed", kind: "counter", labels: group + ",reason"},
		{name: "mapi_instance_update_failed", kind: "counter", labels: group + ",reason"},
		{name: "mapi_instance_delete_failed", kind: "counter", labels: group + ",reason"},
		{name: "mapi_machine_phase_transition_seconds", kind: "histogram", labels: "phase"},
		{name: "mapi_machinehealthcheck_nodes_covered", kind: "gauge", labels: group + ",api_version"},
		{name: "mapi_machinehealthcheck_remediation_success_total", kind: "counter", labels: group + ",api_version"},
		{name: "mapi_machinehealthcheck_short_circuit", kind: "gauge", labels: group + ",api_version"},
		{name: "mapi_current_pending_csr", kind: "gauge"},
		{name: "mapi_max_pending_csr", kind: "gauge"},
	})
}

// TestSeriesOfGardener: sections 7.1 and 7.2 of the Gardener notes, the metrics that are not about objects and not about calls of the
// infrastructure, which are tested in packages of their own.
func TestSeriesOfGardener(t *testing.T) {
	const machines = "namespace,machine_deployment,instance_type,zone"
	compare(t, []entry{
		{name: "mcm_machine_stale_machines_total", kind: "counter"},
		{name: "mcm_machine_controller_frozen", kind: "gauge"},
		{name: "mcm_machine_create_duration_seconds", kind: "gauge", labels: machines},
		{name: "mcm_machine_initialize_duration_seconds", kind: "gauge", labels: machines},
		{name: "mcm_machine_join_duration_seconds", kind: "gauge", labels: machines},
		{name: "mcm_machine_delete_duration_seconds", kind: "gauge", labels: machines},
		{name: "mcm_machine_drain_duration_seconds", kind: "gauge", labels: "namespace,machine_deployment"},
		{name: "mcm_machine_num_failed_join", kind: "counter", labels: machines},
	})
}

// compare holds what programs have to what is wanted.
func compare(t *testing.T, all []entry) {
	t.Helper()
	has := map[string]entry{}
	for _, e := range collected(t) {
		has[e.name] = e
	}
	for _, want := range all {
		got, there := has[want.name]
		if !there {
			t.Errorf("%s: nobody has it", want.name)
			continue
		}
		if kind, labels := got.kind, sorted(got.labels); kind != want.kind || labels != sorted(want.labels) {
			t.Errorf("%s is a %s of %s, want a %s of %s", want.name, kind, labels, want.kind, sorted(want.labels))
		}
	}
}

// sorted are labels in one order.
func sorted(labels string) string {
	all := strings.FieldsFunc(labels, func(r rune) bool { return r == ',' })
	slices.Sort(all)
	return strings.Join(all, ",")
}

// TestBucketsOfPhases: section 9.1. Quantiles of old and new series can be compared while the buckets are the same.
func TestBucketsOfPhases(t *testing.T) {
	r := &shelf{Registry: prometheus.NewRegistry()}
	machine.NewMetrics(r)
	for _, c := range r.all {
		if h, is := c.(*prometheus.HistogramVec); is {
			if d := describe(h)[0].String(); strings.Contains(d, `"mapi_machine_phase_transition_seconds"`) {
				h.WithLabelValues("Running").Observe(1)
			}
		}
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, f := range families {
		if f.GetName() == "mapi_machine_phase_transition_seconds" {
			for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
				got = append(got, b.GetUpperBound())
			}
		}
	}
	if want := []float64{5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 360, 480, 600}; !slices.Equal(got, want) {
		t.Errorf("the buckets are %v, want %v", got, want)
	}
}
