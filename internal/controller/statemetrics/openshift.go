package statemetrics

import (
	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
)

// collectorUp is the metric by which this API's alert detects that the collector reads nothing.
var collectorUp = prometheus.NewDesc("mapi_mao_collector_up",
	"1 if the objects behind the metric in the label kind could be read at this scrape, else 0.", []string{"kind"}, nil)

// apiVersion is the value of the label of that name: the original reads typed objects, which have none set.
const apiVersion = ""

// OpenShiftMachines are the Machines of machine.openshift.io. A Machine without a phase, which no
// controller has reconciled yet, is counted and has no series.
func OpenShiftMachines() Kind {
	return kindOf("Machine of machine.openshift.io", &machinev1.MachineList{},
		itemsOf("mapi_machine_items", "Machines of machine.openshift.io."),
		reading{desc: collectorUp, kind: "mapi_machine_items"},
		family[*machinev1.Machine]{
			name: "mapi_machine_created_timestamp_seconds", help: "Creation time of the Machine, in Unix time; one series for each Machine that has a phase.",
			labels: []string{"spec_provider_id", "node", "api_version", "phase"},
			say: func(m *machinev1.Machine, emit emit) {
				phase := ptr.Deref(m.Status.Phase, "")
				if phase == "" {
					return
				}
				node := ""
				if m.Status.NodeRef != nil {
					node = m.Status.NodeRef.Name
				}
				emit(created(m), ptr.Deref(m.Spec.ProviderID, ""), node, apiVersion, phase)
			},
		})
}

// OpenShiftMachineSets are the MachineSets of machine.openshift.io.
func OpenShiftMachineSets() Kind {
	type set = *machinev1.MachineSet
	return kindOf("MachineSet of machine.openshift.io", &machinev1.MachineSetList{},
		itemsOf("mapi_machineset_items", "MachineSets of machine.openshift.io."),
		reading{desc: collectorUp, kind: "mapi_machineset_items"},
		family[set]{
			name: "mapi_machineset_created_timestamp_seconds", help: "Creation time of the MachineSet, in Unix time.",
			labels: []string{"api_version"},
			say:    func(s set, emit emit) { emit(created(s), apiVersion) },
		},
		number("mapi_machine_set_status_replicas", "Machines that the MachineSet has (status.replicas).",
			func(s set) int32 { return s.Status.Replicas }),
		number("mapi_machine_set_status_replicas_available", "Machines of the MachineSet that are available (status.availableReplicas).",
			func(s set) int32 { return s.Status.AvailableReplicas }),
		number("mapi_machine_set_status_replicas_ready", "Machines of the MachineSet that are ready (status.readyReplicas).",
			func(s set) int32 { return s.Status.ReadyReplicas }),
	)
}

// OpenShiftMachineDeployments are the MachineDeployments of machine.openshift.io, which the original does not have.
func OpenShiftMachineDeployments() Kind {
	type deployment = *v1beta1.MachineDeployment
	return kindOf("MachineDeployment of machine.openshift.io", &v1beta1.MachineDeploymentList{},
		itemsOf("millwright_machine_deployment_items", "MachineDeployments of machine.openshift.io."),
		reading{},
		number("millwright_machine_deployment_spec_replicas", "Desired machines of the MachineDeployment (spec.replicas).",
			func(d deployment) int32 { return ptr.Deref(d.Spec.Replicas, 1) }),
		number("millwright_machine_deployment_status_replicas", "Machines that the MachineDeployment has (status.replicas).",
			func(d deployment) int32 { return d.Status.Replicas }),
		number("millwright_machine_deployment_status_updated_replicas", "Machines of the MachineDeployment that match its current template (status.updatedReplicas).",
			func(d deployment) int32 { return d.Status.UpdatedReplicas }),
		number("millwright_machine_deployment_status_available_replicas", "Machines of the MachineDeployment that are available (status.availableReplicas).",
			func(d deployment) int32 { return d.Status.AvailableReplicas }),
		conditions("millwright_machine_deployment_status_condition", "MachineDeployment", func(d deployment, emit emit) {
			for _, c := range d.Status.Conditions {
				emit(truth(corev1.ConditionStatus(c.Status)), c.Type)
			}
		}),
	)
}

// created is when an object was created, in seconds of Unix time.
func created(o client.Object) float64 { return float64(o.GetCreationTimestamp().Unix()) }
