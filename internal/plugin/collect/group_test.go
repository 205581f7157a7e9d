package collect_test

import (
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

func selector(name string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
}

func openshiftSet(wanted, have, available int32, change ...func(*machinev1.MachineSet)) *machinev1.MachineSet {
	s := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mill-a", UID: "uid-set-o", Generation: 1, CreationTimestamp: ago(10 * time.Hour)}}
	s.Spec.Replicas, s.Spec.Selector = ptr.To(wanted), selector("mill")
	s.Spec.Template.Labels = map[string]string{"name": "mill"}
	s.Status = machinev1.MachineSetStatus{Replicas: have, ReadyReplicas: available, AvailableReplicas: available, ObservedGeneration: 1}
	for _, c := range change {
		c(s)
	}
	return s
}

func gardenerSet(wanted, have, available int32, change ...func(*v1alpha1.MachineSet)) *v1alpha1.MachineSet {
	s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mill-b", UID: "uid-set-g", Generation: 1, CreationTimestamp: ago(10 * time.Hour)}}
	s.Spec.Replicas, s.Spec.Selector = wanted, ptr.To(selector("mill"))
	s.Spec.Template.Labels = map[string]string{"name": "mill"}
	s.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "small"}
	s.Status = v1alpha1.MachineSetStatus{Replicas: have, ReadyReplicas: available, AvailableReplicas: available, ObservedGeneration: 1}
	for _, c := range change {
		c(s)
	}
	return s
}

func gardenerDeployment(change ...func(*v1alpha1.MachineDeployment)) *v1alpha1.MachineDeployment {
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mill", UID: "uid-dep-g", Generation: 1, CreationTimestamp: ago(10 * time.Hour)}}
	d.Spec.Replicas, d.Spec.Selector = 10, ptr.To(selector("mill"))
	d.Spec.Template.Labels = map[string]string{"name": "mill"}
	d.Spec.Template.Spec.Class = v1alpha1.ClassSpec{Kind: "MachineClass", Name: "small"}
	d.Spec.Strategy.Type = v1alpha1.RollingUpdateMachineDeploymentStrategyType
	d.Spec.Strategy.RollingUpdate = &v1alpha1.RollingUpdateMachineDeployment{}
	d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(0))
	d.Status = v1alpha1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: 10, UpdatedReplicas: 1, ReadyReplicas: 10, AvailableReplicas: 10}
	for _, c := range change {
		c(d)
	}
	return d
}

func progress(status, reason, message string) func(*v1alpha1.MachineDeployment) {
	return func(d *v1alpha1.MachineDeployment) {
		d.Status.Conditions = append(d.Status.Conditions, v1alpha1.MachineDeploymentCondition{
			Type: v1alpha1.MachineDeploymentProgressing, Status: v1alpha1.ConditionStatus(status), Reason: reason, Message: message, LastTransitionTime: ago(20 * time.Minute),
		})
	}
}

// ofDeployment makes s the present set of the deployment.
func ofDeployment(annotations map[string]string) func(*v1alpha1.MachineSet) {
	return func(s *v1alpha1.MachineSet) {
		s.Name, s.UID = "mill-2", "uid-set-2"
		s.Annotations = annotations
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineDeployment", Name: "mill", UID: "uid-dep-g", Controller: ptr.To(true)}}
	}
}

func groups() []situation {
	const set, deployment = "machineset/mill-a", "machinedeployment/mill"
	return []situation{
		{name: "set-in-order", ask: set, state: explain.Healthy, reason: "Available", objects: list(openshiftSet(1, 1, 1), openshiftMachine("Running", 5*time.Hour, withNodeO), node("True", "", "", 4*time.Hour))},
		{name: "set-unseen", ask: set, state: explain.Failed, reason: "NotSeen", objects: list(openshiftSet(3, 0, 0, func(s *machinev1.MachineSet) { s.Generation = 2 }))},
		{name: "set-invalid", ask: set, state: explain.Failed, reason: "InvalidSpec", objects: list(openshiftSet(3, 0, 0, func(s *machinev1.MachineSet) { s.Spec.Template.Labels = nil }))},
		{name: "set-machine-unwell", ask: set, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftSet(2, 2, 1),
			openshiftMachine("Running", 5*time.Hour, withNodeO), node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 4*time.Minute),
			openshiftMachine("Provisioning", 20*time.Second, func(m *machinev1.Machine) { m.Name, m.UID = "mill-a-y", "uid-y" }))},
		{name: "set-deletion-held", ask: set, state: explain.Waiting, reason: "DeletionHeld", objects: list(openshiftSet(1, 9, 9, func(s *machinev1.MachineSet) {
			s.Status.Conditions = []machinev1.Condition{{Type: "DeletionHeld", Status: "True", Reason: "MassDeletion", Message: "8 of 9 machines would go at once, 3 may (30%)", LastTransitionTime: ago(time.Hour)}}
		}))},
		{name: "set-frozen", ask: "ms/mill-b", state: explain.Stuck, reason: "OverShootingReplicaCount", objects: list(gardenerSet(3, 7, 3, func(s *v1alpha1.MachineSet) {
			s.Labels = map[string]string{v1alpha1.LabelKeyFreeze: v1alpha1.LabelValueTrue}
			s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetFrozen, Status: "True", Reason: v1alpha1.ReasonOverShootingReplicaCount, Message: "7 machines, more than 3 and 2", LastTransitionTime: ago(time.Hour)}}
		}))},
		{name: "set-create-failed", ask: "ms/mill-b", state: explain.Degraded, reason: "FailedCreate", objects: list(gardenerSet(3, 1, 1, func(s *v1alpha1.MachineSet) {
			s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetReplicaFailure, Status: "True", Reason: "FailedCreate", Message: "machines is forbidden: exceeded quota: objects", LastTransitionTime: ago(time.Hour)}}
		}))},
		{name: "deployment-paused", ask: deployment, state: explain.Waiting, reason: "DeploymentPaused", objects: list(gardenerDeployment(func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }))},
		{name: "deployment-stopped", ask: deployment, state: explain.Failed, reason: "RolloutStopped", objects: list(gardenerDeployment(
			progress("False", "RolloutStopped", "3 machines of set mill-2 did not become ready (mill-2-a, mill-2-b, mill-2-c); keeping what there is")))},
		{name: "deployment-canary", ask: deployment, state: explain.Waiting, reason: "CanaryWaiting", objects: list(
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated, 9 old left, 10 available; the canary of 1 machine is available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-canary": "1"}
			}),
			gardenerSet(1, 1, 1, ofDeployment(map[string]string{"millwright.dev/rollout-canary-since": "2026-01-02T11:15:00Z", "deployment.kubernetes.io/revision": "7"})))},
		{name: "deployment-canary-passed", ask: deployment, state: explain.Progressing, reason: "MachineSetUpdated", objects: list(
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated, 9 old left, 10 available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-canary": "1", "millwright.dev/rollout-approved": "7"}
			}),
			gardenerSet(1, 1, 1, ofDeployment(map[string]string{"millwright.dev/rollout-canary-since": "2026-01-02T11:15:00Z", "deployment.kubernetes.io/revision": "7"})))},
		{name: "deployment-late", ask: "md/mill", state: explain.Degraded, reason: "ProgressDeadlineExceeded", objects: list(
			gardenerDeployment(progress("False", "ProgressDeadlineExceeded", "no progress for 10m0s: 1 of 10 machines updated")),
			gardenerSet(2, 2, 1, ofDeployment(nil)), class,
			gardenerMachine("CrashLoopBackOff", 12*time.Minute, operationG("Create", "Failed", "ResourceExhausted", "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no capacity in zone a]"), func(m *v1alpha1.Machine) {
				m.OwnerReferences[0].UID = "uid-set-2"
			}))},
		{name: "deployment-deleting", ask: "md/mill", state: explain.Deleting, reason: "Deleting", objects: list(gardenerDeployment(func(d *v1alpha1.MachineDeployment) {
			d.DeletionTimestamp, d.Finalizers = ptr.To(ago(time.Minute)), []string{v1alpha1.FinalizerMachine}
		}))},
		{name: "deployment-openshift", ask: "machinedeployments.v1beta1.machine.openshift.io/mill", state: explain.Progressing, reason: "MachineSetUpdated", objects: list(&v1beta1.MachineDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mill", UID: "uid-dep-o", Generation: 1, CreationTimestamp: ago(time.Hour)},
			Spec: v1beta1.MachineDeploymentSpec{Replicas: ptr.To(int32(3)), Selector: selector("mill"), Template: machinev1.MachineTemplateSpec{
				ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"name": "mill"}},
			}},
			Status: v1beta1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2, Conditions: []metav1.Condition{{
				Type: "Progressing", Status: "True", Reason: "MachineSetUpdated", Message: "1 of 3 machines updated, 2 available", LastTransitionTime: ago(time.Minute),
			}}},
		})},
		{name: "set-nodes-not-readable", ask: set, state: explain.Degraded, reason: "Failed", refuse: forbid("*v1.NodeList"), objects: list(openshiftSet(2, 2, 1),
			openshiftMachine("Failed", 5*time.Hour, func(m *machinev1.Machine) { m.Status.ErrorMessage = ptr.To("can't find created instance") }),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unrelated"}})},
	}
}
