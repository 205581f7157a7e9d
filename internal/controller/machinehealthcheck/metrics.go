package machinehealthcheck

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

// Metrics are the metrics of health checks. A nil *Metrics records nothing.
type Metrics struct {
	covered, restricted, storms *prometheus.GaugeVec
	successes                   *prometheus.CounterVec
	// apiVersion distinguishes checks of an older version from those with the same name.
	apiVersion string
}

// NewMetrics creates the metrics and registers them. Their label api_version is empty, which to Prometheus
// is no label: the series are those of the original.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	labels := []string{"name", "namespace", "api_version"}
	m := &Metrics{
		covered: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mapi_machinehealthcheck_nodes_covered", Help: "Number of nodes covered by MachineHealthChecks",
		}, labels),
		restricted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "mapi_machinehealthcheck_short_circuit", Help: "Short circuit status for MachineHealthCheck (0=no, 1=yes)",
		}, labels),
		storms: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_machinehealthcheck_storms",
			Help: "Groups of machines that became unhealthy together, until the end of their cooldown, by the mode of the breaker: enforce stops their remediation, report does not.",
		}, append(labels, "mode")),
		successes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mapi_machinehealthcheck_remediation_success_total", Help: "Number of successful remediations performed by MachineHealthChecks",
		}, labels),
	}
	for _, c := range []prometheus.Collector{m.covered, m.restricted, m.storms, m.successes} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics of health checks: %w", err)
		}
	}
	return m, nil
}

// Of are the same metrics about checks of another version, which may have the same names.
func (m *Metrics) Of(apiVersion string) *Metrics {
	if m == nil {
		return nil
	}
	out := *m
	out.apiVersion = apiVersion
	return &out
}

func (m *Metrics) observe(check types.NamespacedName, covered int, restricted bool) {
	if m == nil {
		return
	}
	m.covered.WithLabelValues(check.Name, check.Namespace, m.apiVersion).Set(float64(covered))
	closed := 0.0
	if restricted {
		closed = 1
	}
	m.restricted.WithLabelValues(check.Name, check.Namespace, m.apiVersion).Set(closed)
}

// modes are what a breaker does about storms; one that is off sees no storms.
var modes = []health.Mode{health.Report, health.Enforce}

// stormy sets the number of storms that the breaker of a check sees. Its other mode has none.
func (m *Metrics) stormy(check types.NamespacedName, mode health.Mode, storms int) {
	if m == nil {
		return
	}
	for _, other := range modes {
		n := 0
		if other == mode {
			n = storms
		}
		m.storms.WithLabelValues(check.Name, check.Namespace, m.apiVersion, string(other)).Set(float64(n))
	}
}

func (m *Metrics) remedied(check types.NamespacedName) {
	if m != nil {
		m.successes.WithLabelValues(check.Name, check.Namespace, m.apiVersion).Inc()
	}
}

// forget drops the series of a deleted check. The series of restriction falls to zero, so that the alert
// ends.
func (m *Metrics) forget(check types.NamespacedName) {
	if m == nil {
		return
	}
	m.covered.DeleteLabelValues(check.Name, check.Namespace, m.apiVersion)
	for _, mode := range modes {
		m.storms.DeleteLabelValues(check.Name, check.Namespace, m.apiVersion, string(mode))
	}
	m.restricted.WithLabelValues(check.Name, check.Namespace, m.apiVersion).Set(0)
}
