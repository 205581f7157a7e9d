package machine_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
)

// TestFrozenIsCounted: machines that wait because the target cluster is not trusted are counted by reason,
// until they continue or are deleted.
func TestFrozenIsCounted(t *testing.T) {
	const name = "millwright_machines_frozen"
	g := gardenerRig(t)
	registry := prometheus.NewRegistry()
	metrics := machine.NewMetrics(registry)
	g.r.Metrics = metrics
	g.settle()
	expectSeries(t, registry, "in order", name, nil)

	old := g.exchanged()
	g.r.Metrics = metrics
	g.tries(2, 20*time.Second)
	expectSeries(t, registry, "another cluster answers", name, map[string]float64{"machine.sapcloud.io " + ns + " TargetClusterReplaced": 1})

	g.target = old
	g.restart()
	g.r.Metrics = metrics
	g.clock.Step(time.Minute)
	g.tries(3, 20*time.Second)
	expectSeries(t, registry, "it is back", name, nil)

	fleetOf(g, 5)
	g.nodesVanish()
	g.restart()
	g.r.Metrics = metrics
	g.tries(15, time.Minute)
	expectSeries(t, registry, "nodes are missing together", name, map[string]float64{"machine.sapcloud.io " + ns + " NodesMissingTogether": 1})

	g.change(func(m *v1alpha1.Machine) { m.Finalizers = nil })
	g.delete()
	g.tries(2, time.Second)
	expectSeries(t, registry, "the machine is gone", name, nil)
}
