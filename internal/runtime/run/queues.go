package run

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// queueNames are the queues of the original of machine.sapcloud.io (section 7.3 of the Gardener notes), by
// the controllers that do their work. Its other queues have no series: "node" and "machinetermination", whose
// work belongs to "machine", and those of the safety controllers, which are loops here, except for the part
// that marks nodes.
var queueNames = map[string]string{
	"machineset.machine.sapcloud.io":        "machineset",
	"machinedeployment.machine.sapcloud.io": "machinedeployment",
	"machine.machine.sapcloud.io":           "machine",
	"machineclass":                          "machineclass",
	"machineclass-secret":                   "secret",
	"node-without-machine":                  "machinesafetyorphanvms",
}

// queueBuckets is how many buckets the histograms of the original have: from 10 ns to 10 s.
// Controller-runtime has the same ones, and some longer ones.
const queueBuckets = 10

// Queues is a gatherer that reports queues twice: like inner, as workqueue_*{name,controller,priority}, and
// as dashboards of machine.sapcloud.io know them, as mcm_workqueue_*{name}, with the names of the original's
// queues.
type Queues struct{ inner prometheus.Gatherer }

// NewQueues returns a gatherer over inner.
func NewQueues(inner prometheus.Gatherer) Queues { return Queues{inner} }

// Gather implements [prometheus.Gatherer]. The families are sorted by name.
func (q Queues) Gather() ([]*dto.MetricFamily, error) {
	families, err := q.inner.Gather()
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), metrics.WorkQueueSubsystem+"_") {
			continue
		}
		if again := renamed(f); len(again.Metric) > 0 {
			families = append(families, again)
		}
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// renamed returns a family of queues in the form of the original. It merges series that differ only in priority.
func renamed(f *dto.MetricFamily) *dto.MetricFamily {
	name := "mcm_" + f.GetName()
	out := &dto.MetricFamily{Name: &name, Help: f.Help, Type: f.Type}
	all := map[string]*dto.Metric{}
	for _, m := range f.Metric {
		queue, known := queueNames[labelOf(m, "name")]
		switch there := all[queue]; {
		case !known:
		case there != nil:
			*there.Gauge.Value += m.GetGauge().GetValue()
		default:
			all[queue] = relabelled(m, queue)
			out.Metric = append(out.Metric, all[queue])
		}
	}
	slices.SortFunc(out.Metric, func(a, b *dto.Metric) int { return cmp.Compare(labelOf(a, "name"), labelOf(b, "name")) })
	return out
}

// relabelled returns a copy of m for a queue. Data shared with m are not changed.
func relabelled(m *dto.Metric, queue string) *dto.Metric {
	label := "name"
	out := &dto.Metric{Label: []*dto.LabelPair{{Name: &label, Value: &queue}}, Counter: m.Counter}
	if g := m.Gauge; g != nil {
		value := g.GetValue()
		out.Gauge = &dto.Gauge{Value: &value}
	}
	if h := m.Histogram; h != nil {
		out.Histogram = &dto.Histogram{
			SampleCount: h.SampleCount, SampleSum: h.SampleSum, CreatedTimestamp: h.CreatedTimestamp,
			Bucket: h.Bucket[:min(len(h.Bucket), queueBuckets)],
		}
	}
	return out
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// exposition makes the metrics server answer with [Queues] over the registry of controller-runtime. The
// server can serve only that registry otherwise; a second set of queue metrics in the registry is not
// possible, because client-go accepts one provider of them.
func exposition(_ logr.Logger, other http.Handler) (http.Handler, error) {
	all := promhttp.HandlerFor(NewQueues(Metrics.over(metrics.Registry)), promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			all.ServeHTTP(w, r)
			return
		}
		other.ServeHTTP(w, r)
	}), nil
}
