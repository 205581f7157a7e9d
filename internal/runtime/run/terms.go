package run

import (
	"fmt"
	"iter"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/runtime/leading"
)

// Terms are the terms of the leases that a process holds or stands by for. It implements
// [prometheus.Collector]: millwright_leading has a series for each lease. It is safe for concurrent use.
type Terms struct {
	desc *prometheus.Desc
	mu   sync.Mutex
	all  map[string]*leading.Term
}

// NewTerms returns the terms of a process that has no lease yet.
func NewTerms() *Terms {
	return &Terms{all: map[string]*leading.Term{}, desc: prometheus.NewDesc("millwright_leading",
		"1 while this process holds the lease, or runs without leader election; 0 while it stands by, or after it could not renew the lease in time.", []string{"lease"}, nil)}
}

// of returns the term of a lease, which begin creates if it does not exist yet.
func (t *Terms) of(lease string, begin func() *leading.Term) *leading.Term {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[lease] == nil {
		t.all[lease] = begin()
	}
	return t.all[lease]
}

func (t *Terms) each() iter.Seq[*leading.Term] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Values(maps.Clone(t.all))
}

// Describe implements [prometheus.Collector].
func (t *Terms) Describe(to chan<- *prometheus.Desc) { to <- t.desc }

// Collect implements [prometheus.Collector].
func (t *Terms) Collect(to chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for lease, term := range t.all {
		leads := 0.0
		if term.Err() == nil {
			leads = 1
		}
		to <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, leads, lease)
	}
}

// Tenure returns the tenure of the process under the lease of mgr. It begins with the controllers of mgr.
func Tenure(mgr ctrl.Manager, clk clock.PassiveClock) (*leading.Tenure, error) {
	t := leading.NewTenure(clk, leading.Handover)
	if err := mgr.Add(t); err != nil {
		return nil, fmt.Errorf("begin the tenure with the controllers: %w", err)
	}
	return t, nil
}
