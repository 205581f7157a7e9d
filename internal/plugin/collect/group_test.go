package collect_test

import (
	"fmt"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// ofDeployment changes a set into the current set of the deployment.
func ofDeployment(annotations map[string]string) func(*v1alpha1.MachineSet) {
	return func(s *v1alpha1.MachineSet) {
		s.Name, s.UID = "mill-2", "uid-set-2"
		s.Annotations = annotations
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: "MachineDeployment", Name: "mill", UID: "uid-dep-g", Controller: ptr.To(true)}}
	}
}

// canary has the annotations of a set whose rollout has reached its canary.
var canary = map[string]string{"millwright.dev/rollout-canary-since": "2026-01-02T11:15:00Z", "deployment.kubernetes.io/revision": "7"}

// rollout returns a deployment during a rollout, with running machines of its current set mill-2 and of its old set
// mill-1.
func rollout(fresh, old int32, d *v1alpha1.MachineDeployment, annotations map[string]string) []client.Object {
	present := gardenerSet(fresh, fresh, fresh, ofDeployment(annotations))
	before := gardenerSet(old, old, old, ofDeployment(map[string]string{"deployment.kubernetes.io/revision": "6"}), func(s *v1alpha1.MachineSet) {
		s.Name, s.UID = "mill-1", "uid-set-1"
		s.Spec.Template.Spec.Class.Name = "large"
	})
	out := list(d, present, before)
	for _, s := range []*v1alpha1.MachineSet{present, before} {
		for i := range s.Spec.Replicas {
			name := fmt.Sprintf("%s-%d", s.Name, i)
			out = append(out, gardenerMachine("Running", 5*time.Hour, func(m *v1alpha1.Machine) {
				m.Name, m.UID, m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = name, types.UID("uid-"+name), s.Name, s.UID
				m.Spec.ProviderID, m.Labels = "test:///"+name, map[string]string{v1alpha1.LabelKeyNode: name, "name": "mill"}
			}), named(node("True", "", "", 4*time.Hour), name))
		}
	}
	return out
}

func named(n *corev1.Node, name string) *corev1.Node {
	n.Name, n.UID = name, types.UID("uid-"+name)
	return n
}

// onDelete returns a rollout in which a user deletes the old machines.
func onDelete() []client.Object {
	out := rolloutO(1, 2)
	out[0].(*v1beta1.MachineDeployment).Spec.Strategy.Type = v1beta1.OnDeleteMachineDeploymentStrategyType
	return out
}

// rolloutO returns the same rollout for machine.openshift.io.
func rolloutO(fresh, old int32) []client.Object {
	d := &v1beta1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mill", UID: "uid-dep-o", Generation: 1, CreationTimestamp: ago(time.Hour)},
		Spec: v1beta1.MachineDeploymentSpec{Replicas: ptr.To(fresh + old), Selector: selector("mill"), Template: machinev1.MachineTemplateSpec{
			ObjectMeta: machinev1.ObjectMeta{Labels: map[string]string{"name": "mill"}},
		}},
		Status: v1beta1.MachineDeploymentStatus{ObservedGeneration: 1, Replicas: fresh + old, UpdatedReplicas: fresh, ReadyReplicas: fresh + old, AvailableReplicas: fresh + old, Conditions: []metav1.Condition{{
			Type: "Progressing", Status: "True", Reason: "MachineSetUpdated", Message: fmt.Sprintf("%d of %d machines updated, %d available", fresh, fresh+old, fresh+old), LastTransitionTime: ago(time.Minute),
		}}},
	}
	d.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":"new"}`)}
	out := list(d)
	for _, of := range []struct {
		name, size string
		n          int32
	}{{"mill-2", "new", fresh}, {"mill-1", "old", old}} {
		s := openshiftSet(of.n, of.n, of.n, func(s *machinev1.MachineSet) {
			s.Name, s.UID = of.name, types.UID("uid-set-"+of.name)
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "machine.openshift.io/v1beta1", Kind: "MachineDeployment", Name: "mill", UID: "uid-dep-o", Controller: ptr.To(true)}}
			s.Spec.Template.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":"` + of.size + `"}`)}
		})
		out = append(out, s)
		for i := range of.n {
			name := fmt.Sprintf("%s-%d", of.name, i)
			out = append(out, openshiftMachine("Running", 5*time.Hour, withNodeO, func(m *machinev1.Machine) {
				m.Name, m.UID, m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = name, types.UID("uid-"+name), s.Name, s.UID
				m.Spec.ProviderID, m.Status.NodeRef.Name, m.Status.NodeRef.UID = ptr.To("test:///"+name), name, types.UID("uid-"+name)
			}), named(node("True", "", "", 4*time.Hour), name))
		}
	}
	return out
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
		{name: "deployment-paused", ask: deployment, state: explain.Waiting, reason: "DeploymentPaused", objects: rollout(1, 9, gardenerDeployment(func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }), nil)},
		{name: "deployment-stopped", ask: deployment, state: explain.Failed, reason: "RolloutStopped", objects: rollout(0, 10, gardenerDeployment(
			progress("False", "RolloutStopped", "3 machines of set mill-2 did not become ready (mill-2-a, mill-2-b, mill-2-c); keeping what there is"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-max-failures": "3"}
			}), map[string]string{"millwright.dev/rollout-failed": "mill-2-a,mill-2-b,mill-2-c"})},
		{name: "deployment-stopped-just-now", ask: deployment, state: explain.Failed, reason: "RolloutStopped", objects: rollout(0, 10, gardenerDeployment(
			progress("True", "MachineSetUpdated", "0 of 10 machines updated, 10 old left, 10 available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-max-failures": "1"}
			}), map[string]string{"millwright.dev/rollout-failed": "mill-2-a"})},
		{name: "deployment-stopped-by-check", ask: deployment, state: explain.Failed, reason: "RolloutStopped", objects: append(rollout(0, 10, gardenerDeployment(
			progress("False", "RolloutStopped", "3 of 4 machines from class small are unhealthy, says health check workers; keeping what there is")), nil), check("workers"))},
		{name: "deployment-stopped-before", ask: deployment, state: explain.Progressing, reason: "MachineSetUpdated", objects: rollout(1, 9, gardenerDeployment(
			progress("False", "RolloutStopped", "3 machines of set mill-2 did not become ready (mill-2-a, mill-2-b, mill-2-c); keeping what there is")), nil)},
		{name: "deployment-canary", ask: deployment, state: explain.Waiting, reason: "CanaryWaiting", objects: rollout(1, 9,
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated, 9 old left, 10 available; the canary of 1 machine is available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-canary": "1"}
			}), canary)},
		{name: "deployment-canary-soaks", ask: deployment, state: explain.Waiting, reason: "CanaryWaiting", objects: rollout(1, 9,
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated, 9 old left, 10 available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-canary": "1", "millwright.dev/rollout-canary-soak": "2h"}
			}), canary)},
		{name: "deployment-canary-passed", ask: deployment, state: explain.Progressing, reason: "MachineSetUpdated", objects: rollout(1, 9,
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated, 9 old left, 10 available"), func(d *v1alpha1.MachineDeployment) {
				d.Annotations = map[string]string{"millwright.dev/rollout-canary": "1", "millwright.dev/rollout-approved": "7"}
			}), canary)},
		{name: "deployment-by-hand", ask: deployment, state: explain.Waiting, reason: "RolledByHand", objects: onDelete()},
		{name: "deployment-late", ask: "md/mill", state: explain.Degraded, reason: "ProgressDeadlineExceeded", objects: append(rollout(1, 9,
			gardenerDeployment(progress("False", "ProgressDeadlineExceeded", "no progress for 10m0s: 2 of 10 machines updated"), func(d *v1alpha1.MachineDeployment) {
				d.Status.Replicas, d.Status.UpdatedReplicas = 11, 2
			}), nil), class, exhausted())},
		{name: "deployment-late-by-now", ask: "md/mill", state: explain.Degraded, reason: "ProgressDeadlineExceeded", objects: append(rollout(1, 9,
			gardenerDeployment(progress("True", "MachineSetUpdated", "1 of 10 machines updated"), func(d *v1alpha1.MachineDeployment) {
				d.Status.Replicas, d.Status.UpdatedReplicas = 11, 2
				d.Spec.ProgressDeadlineSeconds = ptr.To[int32](600)
			}), nil), class, exhausted())},
		{name: "deployment-sets-not-readable", ask: "md/mill", state: explain.Failed, reason: "RolloutStopped", refuse: forbid("*v1alpha1.MachineSetList"), objects: rollout(0, 10, gardenerDeployment(
			progress("False", "RolloutStopped", "3 machines of set mill-2 did not become ready (mill-2-a, mill-2-b, mill-2-c); keeping what there is")), nil)},
		{name: "deployment-deleting", ask: "md/mill", state: explain.Deleting, reason: "Deleting", objects: rollout(0, 10, gardenerDeployment(func(d *v1alpha1.MachineDeployment) {
			d.DeletionTimestamp, d.Finalizers = ptr.To(ago(time.Minute)), []string{v1alpha1.FinalizerMachine}
		}), nil)},
		{name: "deployment-openshift", ask: "machinedeployments.v1beta1.machine.openshift.io/mill", state: explain.Progressing, reason: "MachineSetUpdated", objects: rolloutO(1, 2)},
		{name: "set-nodes-not-readable", ask: set, state: explain.Degraded, reason: "Failed", refuse: forbid("*v1.NodeList"), objects: list(openshiftSet(2, 2, 1),
			openshiftMachine("Failed", 5*time.Hour, func(m *machinev1.Machine) { m.Status.ErrorMessage = ptr.To("can't find created instance") }),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unrelated"}})},
	}
}

// pauseO pauses the deployment, which is the first object.
func pauseO(objects []client.Object) {
	objects[0].(*v1beta1.MachineDeployment).Spec.Paused = true
}

// shuffled returns a deployment with an unknown strategy, and with an annotation that is not a number.
func shuffled() []client.Object {
	out := rolloutO(1, 2)[:1]
	d := out[0].(*v1beta1.MachineDeployment)
	d.Spec.Strategy.Type = "Shuffle"
	d.Annotations = map[string]string{"millwright.dev/rollout-max-failures": "three"}
	return out
}
