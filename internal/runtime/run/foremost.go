package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Foremost registers metrics with the registry of controller-runtime. Metrics whose names are taken there
// replace the existing ones when they are served. Linked code may bring the metrics of the original's
// controllers, which do not run here and count nothing: packages of actuators register them at
// initialization, with other help, and a registry cannot replace them.
type Foremost struct {
	prometheus.Registerer
	// ours are our metrics whose names are taken.
	ours *prometheus.Registry
}

// Metrics registers the metrics that a process serves.
var Metrics = Foremost{Registerer: metrics.Registry, ours: prometheus.NewRegistry()}

// Register implements [prometheus.Registerer].
func (f Foremost) Register(c prometheus.Collector) error {
	err := f.Registerer.Register(c)
	if err == nil || prometheus.NewRegistry().Register(c) != nil { // alone it is not a valid metric either
		return err
	}
	return f.ours.Register(c)
}

// MustRegister implements [prometheus.Registerer].
func (f Foremost) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := f.Register(c); err != nil {
			panic(err)
		}
	}
}

// over gathers the metrics of inner, replaced by ours where names are equal.
func (f Foremost) over(inner prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := inner.Gather()
		ours, failed := f.ours.Gather()
		all := map[string]*dto.MetricFamily{}
		for _, family := range slices.Concat(families, ours) {
			all[family.GetName()] = family
		}
		byName := func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) }
		return slices.SortedFunc(maps.Values(all), byName), cmp.Or(err, failed)
	})
}
