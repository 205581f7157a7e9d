package orphan

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/internal/engine/orphan"
)

// Metrics are the collector's metrics. A nil *Metrics records nothing.
type Metrics struct {
	orphans   *prometheus.GaugeVec
	deletions prometheus.Counter
	failures  *prometheus.CounterVec
	anonymous prometheus.Gauge
}

// The states of orphans.
const (
	stateQuarantined = "quarantined" // within the grace period
	stateHeld        = "held"        // an objection prevents the removal
	stateUnowned     = "unowned"     // it has no mark of this control plane
	stateRemoving    = "removing"
)

// NewMetrics creates the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millwright_orphans",
			Help: "Instances without a machine, and leftovers of instances, by state.",
		}, []string{"state"}),
		deletions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millwright_orphan_deletions_total",
			Help: "Removed instances without a machine, and removed leftovers of instances.",
		}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millwright_orphan_listing_failures_total",
			Help: "Listings that failed or were not trusted, by reason.",
		}, []string{"reason"}),
		anonymous: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millwright_orphan_collection_without_identity",
			Help: "1 while the controller cannot read or store the identity of the control plane, and only reports instances without a machine; else 0.",
		}),
	}
	for _, c := range []prometheus.Collector{m.orphans, m.deletions, m.failures, m.anonymous} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register the collector's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) deleted() {
	if m != nil {
		m.deletions.Inc()
	}
}

// identified shows whether the control plane has an identity.
func (m *Metrics) identified(known bool) {
	if m == nil {
		return
	}
	m.anonymous.Set(1)
	if known {
		m.anonymous.Set(0)
	}
}

// failed counts a failed listing: "class", "open" or "machines", the kind of the infrastructure's error, or
// "Doubted".
func (m *Metrics) failed(reason string) {
	if m != nil {
		m.failures.WithLabelValues(reason).Inc()
	}
}

// count sets the gauge from the state of all scopes.
func (m *Metrics) count(memories []orphan.Memory) {
	if m == nil {
		return
	}
	n := map[string]int{stateQuarantined: 0, stateHeld: 0, stateUnowned: 0, stateRemoving: 0}
	for _, memory := range memories {
		for _, s := range memory.Suspects {
			n[stateOf(s)]++
		}
	}
	for state, count := range n {
		m.orphans.WithLabelValues(state).Set(float64(count))
	}
}

func stateOf(s orphan.Suspect) string {
	switch {
	case s.Removing:
		return stateRemoving
	case s.Reason == orphan.ReasonOtherOwner, s.Reason == orphan.ReasonNoOwner, s.Reason == orphan.ReasonOwnerUnknown:
		return stateUnowned
	case s.Reason == s.Cause:
		return stateQuarantined
	}
	return stateHeld
}
