package run

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// used makes queues of the controllers as controller-runtime does, and puts an item through each.
func used(t *testing.T) {
	t.Helper()
	for controller := range queueNames {
		q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: controller})
		t.Cleanup(q.ShutDown)
		q.Add("a")
		item, _ := q.Get()
		q.Done(item)
	}
}

// ours are the families that there are besides those of inner.
func ours(t *testing.T, inner prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := NewQueues(inner).Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "mcm_") {
			out[f.GetName()] = f
		}
	}
	return out
}

// series are the gauges and counters of a family by their only label, and how often its histograms were observed.
func series(t *testing.T, f *dto.MetricFamily) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, m := range f.GetMetric() {
		if len(m.GetLabel()) != 1 || m.GetLabel()[0].GetName() != "name" {
			t.Errorf("%s has the labels %v, want only name", f.GetName(), m.GetLabel())
			continue
		}
		out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return out
}

// Section 7.3 of the Gardener notes: the metrics of queues.
func TestQueueTable(t *testing.T) {
	before := ours(t, metrics.Registry)
	used(t)
	families, err := NewQueues(metrics.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) }) {
		t.Error("the families are not in order")
	}
	got := ours(t, metrics.Registry)
	queues := []string{"machine", "machineclass", "machinedeployment", "machinesafetyorphanvms", "machineset", "secret"}
	const gauge, counter, histogram = dto.MetricType_GAUGE, dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM
	rows := []struct {
		metric string
		kind   dto.MetricType
		value  float64
		reason string
	}{
		{"depth", gauge, 0, "nothing waits"},
		{"adds_total", counter, 1, "one item was added to each"},
		{"queue_duration_seconds", histogram, 1, "it waited once"},
		{"work_duration_seconds", histogram, 1, "it was worked on once"},
		{"unfinished_work_seconds", gauge, 0, "nothing is being worked on"},
		{"longest_running_processor_seconds", gauge, 0, "nothing is being worked on"},
		{"retries_total", counter, 0, "nothing was tried again"},
	}
	for _, r := range rows {
		t.Run(r.metric, func(t *testing.T) {
			f := got["mcm_workqueue_"+r.metric]
			if f.GetType() != r.kind || f.GetHelp() == "" {
				t.Errorf("is %v (%q), want a %v with a help text", f.GetType(), f.GetHelp(), r.kind)
			}
			values, was := series(t, f), series(t, before[f.GetName()])
			if names := slices.Sorted(maps.Keys(values)); !slices.Equal(names, queues) {
				t.Errorf("the queues are %v, want %v", names, queues)
			}
			for name, value := range values {
				if grown := value - was[name]; grown != r.value {
					t.Errorf("of %s it has grown by %v, want %v: %s", name, grown, r.value, r.reason)
				}
			}
			for _, m := range f.GetMetric() {
				if want := prometheus.ExponentialBuckets(10e-9, 10, 10); r.kind == histogram && !slices.Equal(bounds(m), want) {
					t.Errorf("the buckets are %v, want %v", bounds(m), want)
				}
			}
		})
	}
	if len(got) != len(rows) {
		t.Errorf("there are %v", slices.Sorted(maps.Keys(got)))
	}
}

func bounds(m *dto.Metric) (out []float64) {
	for _, b := range m.GetHistogram().GetBucket() {
		out = append(out, b.GetUpperBound())
	}
	return out
}

// TestPrioritiesAreOneQueue: controller-runtime counts the items of each priority apart, the original knows none.
func TestPrioritiesAreOneQueue(t *testing.T) {
	registry := prometheus.NewRegistry()
	depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth"}, []string{"name", "controller", "priority"})
	registry.MustRegister(depth)
	depth.WithLabelValues("machine.machine.sapcloud.io", "x", "0").Set(2)
	depth.WithLabelValues("machine.machine.sapcloud.io", "x", "-100").Set(3)
	depth.WithLabelValues("machine.machine.openshift.io", "x", "0").Set(7)
	for range 2 { // what was gathered is not changed: it may be shared
		families, err := NewQueues(registry).Gather()
		if err != nil || len(families) != 2 {
			t.Fatalf("%d families, %v", len(families), err)
		}
		if got := series(t, families[0]); !maps.Equal(got, map[string]float64{"machine": 5}) {
			t.Errorf("the depth is %v", got)
		}
		if n := len(families[1].GetMetric()); n != 3 {
			t.Errorf("%d series are left of the original ones", n)
		}
	}
}

// TestPriorityQueueIsMeasured: what the controllers have by default is counted under the names that are looked for.
func TestPriorityQueueIsMeasured(t *testing.T) {
	q := priorityqueue.New[string]("machineclass-secret")
	t.Cleanup(q.ShutDown)
	added := func() float64 { return series(t, ours(t, metrics.Registry)["mcm_workqueue_adds_total"])["secret"] }
	before := added()
	q.AddWithOpts(priorityqueue.AddOpts{}, "a", "b")
	for range 2 { // it counts when it hands them out at the latest
		item, _ := q.Get()
		q.Done(item)
	}
	if n := added() - before; n != 2 {
		t.Errorf("two items were added, and %v are counted", n)
	}
}

// TestBrokenGathering: a collector that fails takes nothing away from the others.
func TestBrokenGathering(t *testing.T) {
	registry := prometheus.NewRegistry()
	adds := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_adds_total"}, []string{"name"})
	adds.WithLabelValues("machineclass").Inc()
	registry.MustRegister(adds, prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		to <- prometheus.NewInvalidMetric(prometheus.NewDesc("broken", "", nil, nil), io.ErrUnexpectedEOF)
	}))
	families, err := NewQueues(registry).Gather()
	if err == nil || len(families) != 2 {
		t.Errorf("%d families, %v", len(families), err)
	}
}

// TestExposition: the endpoint of the metrics has both sets, and the others are as they were.
func TestExposition(t *testing.T) {
	used(t)
	handler, err := exposition(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "other") }))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
	page := get("/metrics")
	for _, want := range []string{"\nmcm_workqueue_adds_total{name=\"machineset\"} ", "\nworkqueue_adds_total{controller=\"machineset.machine.sapcloud.io\"", "mcm_workqueue_work_duration_seconds_bucket{name=\"secret\",le=\"+Inf\"}"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if got := get("/healthz"); got != "other" {
		t.Errorf("/healthz answers %q", got)
	}
}
