package csr

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the approver's gauges. A nil *Metrics records nothing.
type Metrics struct{ current, most prometheus.Gauge }

// NewMetrics registers the gauges.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		current: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mapi_current_pending_csr",
			Help: "Number of kubelet certificate requests that wait for a decision.",
		}),
		most: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mapi_max_pending_csr",
			Help: "Number of waiting kubelet certificate requests above which none is approved.",
		}),
	}
	for _, g := range []prometheus.Gauge{m.current, m.most} {
		if err := r.Register(g); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) pending(n int) {
	if m != nil {
		m.current.Set(float64(n))
	}
}

func (m *Metrics) limit(n int) {
	if m != nil {
		m.most.Set(float64(n))
	}
}
