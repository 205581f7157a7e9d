package termination

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

// Metrics counts the actions of a watcher. A nil *Metrics counts nothing.
type Metrics struct {
	looks   *prometheus.CounterVec
	answer  prometheus.Gauge
	notices *prometheus.GaugeVec
	writes  *prometheus.CounterVec
}

// NewMetrics creates and registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	const prefix = "millwright_termination_handler_"
	m := &Metrics{
		looks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "looks_total", Help: "Queries of the metadata service, by whether the answer was complete.",
		}, []string{"result"}),
		answer: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "last_answer_timestamp_seconds", Help: "Time of the last complete answer of the metadata service, in Unix time.",
		}),
		notices: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "notices", Help: "Current notices about the instance, by kind.",
		}, []string{"kind"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "node_writes_total", Help: "Attempts to write notices to the node, by result.",
		}, []string{"result"}),
	}
	r.MustRegister(m.looks, m.answer, m.notices, m.writes)
	return m
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "success"
}

func (m *Metrics) looked(err error, now time.Time) {
	if m == nil {
		return
	}
	m.looks.WithLabelValues(result(err)).Inc()
	if err == nil {
		m.answer.Set(float64(now.Unix()))
	}
}

func (m *Metrics) knows(r interruption.Report) {
	if m == nil {
		return
	}
	count := map[interruption.Kind]int{}
	for _, n := range r.Notices {
		count[n.Kind]++
	}
	for _, k := range interruption.Kinds {
		m.notices.WithLabelValues(string(k)).Set(float64(count[k]))
	}
}

func (m *Metrics) wrote(err error) {
	if m != nil {
		m.writes.WithLabelValues(result(err)).Inc()
	}
}
