package decorate_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// gather returns the labels of each series of a metric.
func gather(t *testing.T, registry *prometheus.Registry, name string) (series []map[string]string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			series = append(series, labels)
		}
	}
	return series
}

func TestExhaustedIsCountedByScope(t *testing.T) {
	w, registry := newWorld(), prometheus.NewRegistry()
	p, err := decorate.Metrics(w.provider(), registry, w.clock)
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []error{provider.ExhaustedIn(provider.ScopeZone, "no host"), provider.Errorf(provider.Exhausted, "no")} {
		w.refuse[decorate.Create] = refused
		if _, err := open(t, w, p).Create(t.Context(), ref("m"), provider.Want{}); err == nil {
			t.Fatal("not refused")
		}
	}
	seen := map[string]bool{}
	for _, s := range gather(t, registry, "millwright_provider_exhausted_total") {
		seen[s["scope"]] = true
	}
	if !maps.Equal(seen, map[string]bool{"zone": true, "unknown": true}) {
		t.Errorf("scopes %v", seen)
	}
}

func TestFailuresCarryTheDriverCode(t *testing.T) {
	cases := []struct {
		reason string
		kind   provider.Kind
		code   string
	}{
		{"a refused spec is InvalidArgument", provider.Invalid, "3"},
		{"refused credentials are PermissionDenied", provider.Denied, "7"},
		{"quota is ResourceExhausted", provider.Exhausted, "8"},
		{"another operation under way is Aborted", provider.Conflict, "10"},
		{"throttling is Unavailable", provider.Throttled, "14"},
		{"an outage is Unavailable", provider.Transient, "14"},
		{"a kind of somebody's own is Unknown", provider.Kind("Odd"), "2"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld()
			w.refuse[decorate.Create] = provider.Errorf(c.kind, "refused")
			registry := prometheus.NewRegistry()
			p, err := decorate.Metrics(w.provider(), registry, w.clock)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := open(t, w, p).Create(t.Context(), ref("m"), provider.Want{}); err == nil {
				t.Fatal("the error is lost")
			}
			series := gather(t, registry, "mcm_cloud_api_driver_requests_failed_total")
			want := map[string]string{"error_code": c.code, "operation": "create_machine", "provider": "example"}
			if len(series) != 1 || !maps.Equal(series[0], want) {
				t.Errorf("failures are counted as %v, want %v", series, want)
			}
		})
	}
}

func TestCallsOfEveryVerbAreCounted(t *testing.T) {
	w := newWorld()
	registry := prometheus.NewRegistry()
	p, err := decorate.Metrics(w.cloud.Provider(), registry, w.clock)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, w, p)
	mustCreate(t, w, s, "m")
	found, err := s.Find(t.Context(), ref("m"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := collect(s.List(t.Context())); err != nil {
		t.Fatal(err)
	}
	power, ok := provider.As[provider.Powerer](s)
	if !ok {
		t.Fatal("the Powerer is lost")
	}
	if err := power.Power(t.Context(), ref("m"), found[0], provider.PowerOff, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), ref("m"), found); err != nil {
		t.Fatal(err)
	}
	// One series for each of the five verbs; power has no driver operation.
	if all := gather(t, registry, "millwright_provider_call_seconds"); len(all) != 5 {
		t.Errorf("series of our own: %v, want 5", all)
	}
	if all := gather(t, registry, "mcm_cloud_api_driver_request_duration_seconds"); len(all) != 4 {
		t.Errorf("series of driver operations: %v, want 4", all)
	}
}

func TestProvidersShareARegistry(t *testing.T) {
	w, registry := newWorld(), prometheus.NewRegistry()
	for range 2 {
		if _, err := decorate.Metrics(w.cloud.Provider(), registry, w.clock); err != nil {
			t.Fatal(err)
		}
	}
	other := prometheus.NewRegistry()
	other.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "millwright_provider_call_seconds"}))
	if _, err := decorate.Metrics(w.cloud.Provider(), other, w.clock); err == nil {
		t.Error("a registry with another metric of the name is accepted")
	}
}

// The rows of section 7.2 of the Gardener notes about calls of the infrastructure: a Create that succeeds,
// and one that fails.
func TestCloudTable(t *testing.T) {
	w, registry := newWorld(), prometheus.NewRegistry()
	p, err := decorate.Metrics(w.provider(), registry, w.clock)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, w, p)
	if _, err := s.Create(t.Context(), ref("m"), provider.Want{}); err != nil {
		t.Fatal(err)
	}
	w.refuse[decorate.Create] = provider.Errorf(provider.Denied, "no")
	if _, err := s.Create(t.Context(), ref("n"), provider.Want{}); err == nil {
		t.Fatal("not refused")
	}
	service := map[string]string{"provider": "example", "service": "create"}
	operation := map[string]string{"provider": "example", "operation": "create_machine"}
	coded := map[string]string{"provider": "example", "operation": "create_machine", "error_code": "7"}
	rows := []struct {
		metric string
		kind   dto.MetricType
		labels map[string]string
		reason string
	}{
		{"mcm_cloud_api_requests_total", dto.MetricType_COUNTER, service, "one call succeeded: those that fail are not in it"},
		{"mcm_cloud_api_requests_failed_total", dto.MetricType_COUNTER, service, "one call failed"},
		{"mcm_cloud_api_api_request_duration_seconds", dto.MetricType_HISTOGRAM, service, "only successful calls are timed"},
		{"mcm_cloud_api_driver_request_duration_seconds", dto.MetricType_HISTOGRAM, operation, "only successful operations are timed"},
		{"mcm_cloud_api_driver_requests_failed_total", dto.MetricType_COUNTER, coded, "one operation failed, for lack of permission"},
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Run(r.metric, func(t *testing.T) {
			i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == r.metric })
			if i < 0 {
				t.Fatal("is not there")
			}
			f := families[i]
			if f.GetType() != r.kind {
				t.Errorf("is a %v, want a %v", f.GetType(), r.kind)
			}
			if series := gather(t, registry, r.metric); len(series) != 1 || !maps.Equal(series[0], r.labels) {
				t.Errorf("the series are %v, want %v", series, r.labels)
			}
			m := f.GetMetric()[0]
			if n := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()); n != 1 {
				t.Errorf("counts %v, want 1: %s", n, r.reason)
			}
			if buckets := len(m.GetHistogram().GetBucket()); r.kind == dto.MetricType_HISTOGRAM && buckets != len(prometheus.DefBuckets) {
				t.Errorf("has %d buckets, want those that are the default", buckets)
			}
		})
	}
}
