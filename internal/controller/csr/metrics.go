package csr

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// Metrics are the approver's gauges. A nil *Metrics records nothing.
type Metrics struct{ current, most, oldest prometheus.Gauge }

// NewMetrics registers the gauges.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		current: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mapi_current_pending_csr",
			Help: "Number of nodes that wait for a kubelet certificate and count against mapi_max_pending_csr.",
		}),
		most: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mapi_max_pending_csr",
			Help: "Number of nodes waiting for a kubelet certificate above which no request is approved.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millwright_oldest_pending_csr_timestamp_seconds",
			Help: "Creation time of the oldest pending kubelet certificate request, in Unix time; 0 if none is pending.",
		}),
	}
	for _, g := range []prometheus.Gauge{m.current, m.most, m.oldest} {
		if err := r.Register(g); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// pending sets the number of joiners that count against the limit, and the creation time of the oldest
// waiting request of any kubelet, recent or not.
func (m *Metrics) pending(n int, waiting []certificatesv1.CertificateSigningRequest) {
	if m == nil {
		return
	}
	m.current.Set(float64(n))
	var oldest time.Time
	for i := range waiting {
		if !approval.Kubelet(&waiting[i]) {
			continue
		}
		if made := waiting[i].CreationTimestamp.Time; oldest.IsZero() || made.Before(oldest) {
			oldest = made
		}
	}
	if oldest.IsZero() {
		m.oldest.Set(0)
		return
	}
	m.oldest.Set(float64(oldest.Unix()))
}

func (m *Metrics) limit(n int) {
	if m != nil {
		m.most.Set(float64(n))
	}
}
