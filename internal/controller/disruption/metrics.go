package disruption

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Metrics are the metrics of disruption budgets.
type Metrics struct {
	permits, waiting *prometheus.GaugeVec
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	labels := []string{"api", "budget"}
	m := &Metrics{
		permits: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_disruption_permits", Help: "Machines that have a permit of a MachineDisruptionBudget.",
		}, labels),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_disruption_waiting", Help: "Machines that wait for a permit of a MachineDisruptionBudget.",
		}, labels),
	}
	r.MustRegister(m.permits, m.waiting)
	return m
}

// show replaces the series of an API.
func (m *Metrics) show(api string, budgets []v1alpha1.MachineDisruptionBudget, waiting map[string]int) {
	if m == nil {
		return
	}
	m.permits.DeletePartialMatch(prometheus.Labels{"api": api})
	m.waiting.DeletePartialMatch(prometheus.Labels{"api": api})
	for _, b := range budgets {
		n := 0
		for _, d := range b.Status.Disruptions {
			if d.API == api {
				n++
			}
		}
		m.permits.WithLabelValues(api, b.Name).Set(float64(n))
		m.waiting.WithLabelValues(api, b.Name).Set(float64(waiting[b.Name]))
	}
}
