package machine

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// Metrics are the metrics of the machine controllers, besides those of controller-runtime for every
// controller.
type Metrics struct {
	// phase is mapi_machine_phase_transition_seconds: the time from the creation of the object to its
	// stage.
	phase *prometheus.HistogramVec
	steps *prometheus.CounterVec
	stuck *prometheus.CounterVec
	twins prometheus.Counter
	// blocked are deletions that make no progress.
	blocked *blocked
	// frozen are machines that wait because the target cluster is not trusted.
	frozen    *frozen
	failures  failures
	durations durations
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mapi_machine_phase_transition_seconds",
			Help:    "Number of seconds between Machine creation and Machine transition to a phase.",
			Buckets: []float64{5, 10, 20, 30, 60, 90, 120, 180, 240, 300, 360, 480, 600},
		}, []string{"phase"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millwright_machine_steps_total", Help: "Steps performed on machines, by step.",
		}, []string{"step"}),
		stuck: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millwright_machine_failures_total", Help: "Reconciles of machines that ended with a failure, by reason.",
		}, []string{"reason"}),
	}
	m.twins = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "millwright_machine_duplicate_instances_total", Help: "Instances that were found besides the recorded instance of their machine.",
	})
	m.blocked, m.frozen, m.failures, m.durations = newBlocked(), newFrozen(), newFailures(r), newDurations(r)
	r.MustRegister(m.phase, m.steps, m.stuck, m.twins, m.blocked, m.frozen)
	return m
}

// forget ends the series of a deleted machine.
func (m *Metrics) forget(api string, machine types.NamespacedName) {
	if m == nil {
		return
	}
	m.blocked.note(blockedKey{api: api, machine: machine}, "", nil)
	m.frozen.note(blockedKey{api: api, machine: machine}, "")
	m.failures.forget(machine)
}

// phaseWords are the stages that the histogram distinguishes, by its own names.
var phaseWords = map[lifecycle.Stage]string{
	lifecycle.StageCreating: "Provisioning", lifecycle.StageCrashing: "Provisioning", lifecycle.StageJoining: "Provisioned",
	lifecycle.StageRunning: "Running", lifecycle.StageFailed: "Failed",
	lifecycle.StageUpdating: "Running", lifecycle.StageUpdated: "Running", lifecycle.StageUpdateFailed: "Running",
}

func (m *Metrics) observe(was lifecycle.Machine, out lifecycle.Outcome) {
	if m == nil {
		return
	}
	if word, ok := phaseWords[out.Stage]; ok && word != phaseWords[was.Stage] {
		m.phase.WithLabelValues(word).Observe(out.At.Sub(was.Created).Seconds())
	}
	for _, d := range out.Steps {
		m.steps.WithLabelValues(string(d.Step)).Inc()
	}
	if out.Err != nil {
		m.stuck.WithLabelValues(string(out.Reason)).Inc()
	}
}

// doubled counts the instances that a pass was the first to find beside the recorded one.
func (m *Metrics) doubled(before, after client.Object) {
	if m == nil {
		return
	}
	known := dialect.Unrecorded(before)
	for _, id := range dialect.Unrecorded(after) {
		if !slices.Contains(known, id) {
			m.twins.Inc()
		}
	}
}
