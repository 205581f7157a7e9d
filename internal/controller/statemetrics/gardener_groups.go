package statemetrics

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
)

// groupProgram is the program of the original that shows sets and deployments.
const groupProgram = "machine-controller-manager"

// GardenerMachineSets are the MachineSets of machine.sapcloud.io. Unlike in the original, their replicas
// are status.replicas, and not the ready replicas.
func GardenerMachineSets() Kind {
	type set = *v1alpha1.MachineSet
	return kindOf("MachineSet of machine.sapcloud.io", &v1alpha1.MachineSetList{},
		itemsOf("mcm_machine_set_items_total", "MachineSets of machine.sapcloud.io."),
		failuresOf(groupProgram, "Machineset-count"),
		family[set]{
			name: "mcm_machine_set_info", help: "1 for each MachineSet; the labels have its machine class.",
			labels: []string{"createdAt", "spec_machine_class_api_group", "spec_machine_class_kind", "spec_machine_class_name"},
			say: func(s set, emit emit) {
				class := s.Spec.MachineClass
				emit(1, createdAt(s), class.APIGroup, class.Kind, class.Name)
			},
		},
		number("mcm_machine_set_info_spec_replicas", "Desired machines of the MachineSet.",
			func(s set) int32 { return s.Spec.Replicas }),
		number("mcm_machine_set_info_spec_min_ready_seconds", "The MachineSet's spec.minReadySeconds.",
			func(s set) int32 { return s.Spec.MinReadySeconds }),
		conditions("mcm_machine_set_status_condition", "MachineSet", func(s set, emit emit) {
			for _, c := range s.Status.Conditions {
				emit(truth(c.Status), string(c.Type))
			}
		}),
		failedMachines("mcm_machine_set_failed_machines", func(s set, say func(v1alpha1.MachineSummary)) {
			for _, m := range ptr.Deref(s.Status.FailedMachines, nil) {
				say(m)
			}
		}),
		number("mcm_machine_set_status_available_replicas", "Machines of the MachineSet that are available.",
			func(s set) int32 { return s.Status.AvailableReplicas }),
		number("mcm_machine_set_status_fully_labelled_replicas", "Machines of the MachineSet that have all labels of its template.",
			func(s set) int32 { return s.Status.FullyLabeledReplicas }),
		number("mcm_machine_set_status_ready_replicas", "Machines of the MachineSet that are ready.",
			func(s set) int32 { return s.Status.ReadyReplicas }),
		number("mcm_machine_set_status_replicas", "Machines that the MachineSet has.",
			func(s set) int32 { return s.Status.Replicas }),
	)
}

// failedMachines is the family of the machines that an object's status calls failed.
func failedMachines[O client.Object](name string, of func(O, func(v1alpha1.MachineSummary))) family[O] {
	const prefix = "failed_machine_"
	return family[O]{
		name: name, help: "1 for each failed machine in the status.",
		labels: []string{
			prefix + "name", prefix + "provider_id", prefix + "owner_ref",
			prefix + "last_operation_state", prefix + "last_operation_machine_operation_type",
		},
		say: func(o O, emit emit) {
			of(o, func(m v1alpha1.MachineSummary) {
				emit(1, m.Name, m.ProviderID, m.OwnerRef, string(m.LastOperation.State), string(m.LastOperation.Type))
			})
		},
	}
}

type deployment = *v1alpha1.MachineDeployment

// GardenerMachineDeployments are the MachineDeployments of machine.sapcloud.io.
func GardenerMachineDeployments() Kind {
	families := append(deploymentSpecs(), deploymentStatuses()...)
	return kindOf("MachineDeployment of machine.sapcloud.io", &v1alpha1.MachineDeploymentList{},
		itemsOf("mcm_machine_deployment_items_total", "MachineDeployments of machine.sapcloud.io."),
		failuresOf(groupProgram, "Machinedeployment-count"), families...)
}

func deploymentSpecs() []family[deployment] {
	const prefix = "mcm_machine_deployment_info"
	return []family[deployment]{
		{
			name: prefix, help: "1 for each MachineDeployment; the labels have its update strategy.",
			labels: []string{"createdAt", "spec_strategy_type"},
			say:    func(d deployment, emit emit) { emit(1, createdAt(d), string(d.Spec.Strategy.Type)) },
		},
		number(prefix+"_spec_paused", "1 for a MachineDeployment that is paused, else 0.", func(d deployment) int32 {
			if d.Spec.Paused {
				return 1
			}
			return 0
		}),
		number(prefix+"_spec_replicas", "Desired machines of the MachineDeployment.",
			func(d deployment) int32 { return d.Spec.Replicas }),
		number(prefix+"_spec_min_ready_seconds", "The MachineDeployment's spec.minReadySeconds.",
			func(d deployment) int32 { return d.Spec.MinReadySeconds }),
		optional(prefix+"_spec_rolling_update_max_surge", "The MachineDeployment's maxSurge, if its strategy is RollingUpdate; 0 for a percentage.",
			func(d deployment) *int32 {
				return bound(d, func(c v1alpha1.UpdateConfiguration) *intstr.IntOrString { return c.MaxSurge })
			}),
		optional(prefix+"_spec_rolling_update_max_unavailable", "The MachineDeployment's maxUnavailable, if its strategy is RollingUpdate; 0 for a percentage.",
			func(d deployment) *int32 {
				return bound(d, func(c v1alpha1.UpdateConfiguration) *intstr.IntOrString { return c.MaxUnavailable })
			}),
		optional(prefix+"_spec_revision_history_limit", "The MachineDeployment's spec.revisionHistoryLimit, if set.",
			func(d deployment) *int32 { return d.Spec.RevisionHistoryLimit }),
		optional(prefix+"_spec_progress_deadline_seconds", "The MachineDeployment's spec.progressDeadlineSeconds, if set.",
			func(d deployment) *int32 { return d.Spec.ProgressDeadlineSeconds }),
		optional(prefix+"_spec_rollback_to_revision", "The revision to which the MachineDeployment must roll back, while a rollback is requested.",
			func(d deployment) *int64 {
				if d.Spec.RollbackTo == nil {
					return nil
				}
				return &d.Spec.RollbackTo.Revision
			}),
	}
}

// bound is one of the two bounds of a rolling update, as a number; nil if it is not set. A percentage is 0,
// as it is in the original.
func bound(d deployment, of func(v1alpha1.UpdateConfiguration) *intstr.IntOrString) *int32 {
	s := d.Spec.Strategy
	if s.Type != v1alpha1.RollingUpdateMachineDeploymentStrategyType || s.RollingUpdate == nil {
		return nil
	}
	b := of(s.RollingUpdate.UpdateConfiguration)
	if b == nil {
		return nil
	}
	return ptr.To(int32(b.IntValue()))
}

func deploymentStatuses() []family[deployment] {
	const prefix = "mcm_machine_deployment_status"
	return []family[deployment]{
		conditions(prefix+"_condition", "MachineDeployment", func(d deployment, emit emit) {
			for _, c := range d.Status.Conditions {
				emit(truth(c.Status), string(c.Type))
			}
		}),
		number(prefix+"_available_replicas", "Machines of the MachineDeployment that are available.",
			func(d deployment) int32 { return d.Status.AvailableReplicas }),
		number(prefix+"_unavailable_replicas", "Desired machines of the MachineDeployment's sets that are not available.",
			func(d deployment) int32 { return d.Status.UnavailableReplicas }),
		number(prefix+"_ready_replicas", "Machines of the MachineDeployment that are ready.",
			func(d deployment) int32 { return d.Status.ReadyReplicas }),
		number(prefix+"_updated_replicas", "Machines of the MachineDeployment that match its current template.",
			func(d deployment) int32 { return d.Status.UpdatedReplicas }),
		optional(prefix+"_collision_count", "How often the name for a new set of the MachineDeployment was already in use; no series if never.",
			func(d deployment) *int32 { return d.Status.CollisionCount }),
		number(prefix+"_replicas", "Machines that the MachineDeployment has.",
			func(d deployment) int32 { return d.Status.Replicas }),
		failedMachines("mcm_machine_deployment_failed_machines", func(d deployment, say func(v1alpha1.MachineSummary)) {
			for _, m := range d.Status.FailedMachines {
				if m != nil {
					say(*m)
				}
			}
		}),
	}
}
