package serve

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// TestAProgramStartsWithMetricsOfLinkedCode: a program may link the original's machine controller, which registers
// the same metrics.
func TestAProgramStartsWithMetricsOfLinkedCode(t *testing.T) {
	labels := []string{"name", "namespace", "reason"}
	for _, name := range []string{"mapi_instance_create_failed", "mapi_instance_update_failed", "mapi_instance_delete_failed"} {
		metrics.Registry.MustRegister(prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "Linked."}, labels))
	}
	machine.NewMetrics(run.Metrics)
}
