package statemetrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
)

// failuresOf describes the counter of failed scrapes, as the original's program with that counter does.
func failuresOf(program, kind string) reading {
	return reading{counts: true, kind: kind, desc: prometheus.NewDesc("mcm_misc_scrape_failure_total",
		"Scrapes at which the process could not read the objects of a kind.", []string{"kind"}, prometheus.Labels{"binary": program})}
}

// phases are the phases of a machine as numbers. Phases that are not here count as 0, like Pending.
var phases = map[v1alpha1.MachinePhase]float64{
	v1alpha1.MachineTerminating: -4, v1alpha1.MachineFailed: -3, v1alpha1.MachineCrashLoopBackOff: -2,
	v1alpha1.MachineUnknown: -1, v1alpha1.MachinePending: 0, v1alpha1.MachineRunning: 1,
}

// GardenerMachines are the Machines of machine.sapcloud.io.
func GardenerMachines() Kind {
	type machine = *v1alpha1.Machine
	return kindOf("Machine of machine.sapcloud.io", &v1alpha1.MachineList{},
		itemsOf("mcm_machine_items_total", "Machines of machine.sapcloud.io."),
		failuresOf("machine-controller-manager-provider", "Machine-count"),
		family[machine]{
			name: "mcm_machine_info", help: "1 for each Machine; the labels have its class, provider ID and node.",
			labels: []string{"createdAt", "spec_provider_id", "spec_class_api_group", "spec_class_kind", "spec_class_name", "node_name"},
			say: func(m machine, emit emit) {
				class := m.Spec.Class
				emit(1, createdAt(m), m.Spec.ProviderID, class.APIGroup, class.Kind, class.Name, m.Labels[v1alpha1.LabelKeyNode])
			},
		},
		family[machine]{
			name: "mcm_machine_current_status_phase",
			help: "The phase of the Machine: -4 Terminating, -3 Failed, -2 CrashLoopBackOff, -1 Unknown, 0 Pending and all others, 1 Running.",
			say:  func(m machine, emit emit) { emit(phases[m.Status.CurrentStatus.Phase]) },
		},
		conditions("mcm_machine_status_condition", "Machine", func(m machine, emit emit) {
			for _, c := range m.Status.Conditions {
				if c.Type == dialect.RecordCondition {
					continue // it is not a condition of the node
				}
				emit(truth(c.Status), string(c.Type))
			}
		}),
	)
}

// conditions is the family of an object's conditions.
func conditions[O client.Object](name, kind string, say func(O, emit)) family[O] {
	return family[O]{
		name: name, help: "A condition of the " + kind + ": 1 is True, 0 is False, 2 is Unknown.", labels: []string{"condition"}, say: say,
	}
}

// truth is the status of a condition as a number. An invalid status counts as False.
func truth[S v1alpha1.ConditionStatus | corev1.ConditionStatus](status S) float64 {
	switch v1alpha1.ConditionStatus(status) {
	case v1alpha1.ConditionTrue:
		return 1
	case v1alpha1.ConditionUnknown:
		return 2
	}
	return 0
}

// createdAt is when an object was created, in seconds of Unix time, as the value of a label.
func createdAt(o client.Object) string { return strconv.FormatInt(o.GetCreationTimestamp().Unix(), 10) }
