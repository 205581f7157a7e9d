package collect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

func refused(refuse func(string) error, o any) error {
	if refuse == nil {
		return nil
	}
	return refuse(fmt.Sprintf("%T", o))
}

// forbid returns a function that refuses to read the given types.
func forbid(types ...string) func(string) error {
	return func(what string) error {
		if slices.Contains(types, what) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: strings.ToLower(strings.TrimPrefix(what, "*v1."))}, "", errors.New("user jane may not"))
		}
		return nil
	}
}

// situation has a question about a cluster with some objects, and the expected answer.
type situation struct {
	name, ask     string
	state         explain.State
	reason        string
	objects       []client.Object
	refuse        func(string) error
	namespaceSaid string
	tree          bool
	// leases has the leases in the cluster. nil stands for the leases of running controllers.
	leases []client.Object
}

const (
	machineX = "machine/mill-a-x"
	machineY = "machine/mill-b-y"
)

// usages has the usage of a client certificate.
const usages = certificatesv1.UsageClientAuth

func machines(t *testing.T) []situation {
	drainError := conditionO("Drained", corev1.ConditionFalse, "DrainError", "could not drain machine: 1 pod has to leave: web/web-1 (disruption budget web/web has no room, since 2026-01-02T08:48:00Z)", 3*time.Hour+12*time.Minute)
	return []situation{
		{name: "healthy-openshift", ask: machineX, state: explain.Healthy, reason: "Running", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), node("True", "KubeletReady", "", 4*time.Hour))},
		{name: "healthy-gardener", ask: machineY, state: explain.Healthy, reason: "Running", objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG), node("True", "KubeletReady", "", 4*time.Hour))},
		{name: "healthy-cordoned", ask: machineX, state: explain.Healthy, reason: "Running", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), cordoned(node("True", "KubeletReady", "", 4*time.Hour)))},
		{name: "unseen", ask: machineX, state: explain.Failed, reason: "NotSeen", objects: list(openshiftMachine("", 5*time.Minute, func(m *machinev1.Machine) { m.Finalizers = nil }))},
		{name: "invalid-object", ask: machineX, state: explain.Failed, reason: "InvalidObject", objects: list(openshiftMachine("", time.Minute, func(m *machinev1.Machine) { m.Labels = nil }))},
		{name: "creating", ask: machineY, state: explain.Progressing, reason: "InstanceNotCreated", objects: list(class, gardenerMachine("", 10*time.Second))},
		{name: "instance-pending", ask: machineX, state: explain.Progressing, reason: "InstancePending", objects: list(openshiftMachine("Provisioning", 40*time.Second, provisionedO))},
		{name: "quota-exhausted", ask: machineY, state: explain.Degraded, reason: "ResourceExhausted", objects: list(class, gardenerMachine("CrashLoopBackOff", 6*time.Minute,
			operationG("Create", "Failed", "ResourceExhausted", "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [create instance: quota of 20 CPUs is used up]")))},
		{name: "given-up", ask: machineY, state: explain.Degraded, reason: "InstanceGivenUp", objects: list(class, gardenerMachine("CrashLoopBackOff", 6*time.Minute,
			operationG("Create", "Failed", "ResourceExhausted", "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no room for small in zone a]"),
			func(m *v1alpha1.Machine) { m.Spec.ProviderID = "cloud:///i-1" }))},
		{name: "quota-exhausted-openshift", ask: machineX, state: explain.Degraded, reason: "CreateFailed", objects: list(openshiftMachine("Provisioning", 6*time.Minute,
			conditionO("InstanceExists", corev1.ConditionFalse, "InstanceNotCreated", "Instance has not been created: create instance: quota of 20 CPUs is used up", 5*time.Minute)))},
		{name: "invalid-spec", ask: machineX, state: explain.Failed, reason: "Failed", objects: list(openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) {
			m.Status.ErrorReason, m.Status.ErrorMessage = ptr.To(machinev1.InvalidConfigurationMachineError), ptr.To(`spec.providerSpec.value.zone: unknown zone "eu-9"`)
		}))},
		{name: "credentials-denied", ask: machineY, state: explain.Degraded, reason: "PermissionDenied", objects: list(class, gardenerMachine("CrashLoopBackOff", 6*time.Minute,
			operationG("Create", "Failed", "PermissionDenied", "Cloud provider message - machine codes error: code = [PermissionDenied] message = [look for instances: access key is disabled]")))},
		{name: "class-missing", ask: machineY, state: explain.Degraded, reason: "ClassUnavailable", objects: list(gardenerMachine("CrashLoopBackOff", 6*time.Minute,
			operationG("Create", "Failed", "Unavailable", "Cloud provider message - machine codes error: code = [Unavailable] message = [spec.class.name: read machineclass small: not found]")))},
		{name: "no-node", ask: machineY, state: explain.Degraded, reason: "AwaitingNode", objects: list(class, gardenerMachine("Pending", 13*time.Minute, func(m *v1alpha1.Machine) {
			withNodeG(m)
			m.Status.CurrentStatus.LastUpdateTime = ago(12 * time.Minute)
		}))},
		{name: "request-refused", ask: machineY, state: explain.Degraded, reason: "TokenGone", objects: list(class, gardenerMachine("Pending", 13*time.Minute, withNodeG), request(t, "uid-g", "n-1", 10*time.Minute, usages))},
		{name: "request-told", ask: machineX, state: explain.Degraded, reason: "UnexpectedUsages", objects: list(
			openshiftMachine("Provisioned", 13*time.Minute, provisionedO), request(t, "uid-o", "n-1", 10*time.Minute, usages), token("uid-o", "blue/mill-a-x"),
			told("uid-o", "UnexpectedUsages", `certificate request csr-1 of node "n-1" is not approved: usages ["any"] are not those of a client certificate`, 9*time.Minute))},
		{name: "request-other-name", ask: machineX, state: explain.Degraded, reason: "NoMachine", objects: list(
			openshiftMachine("Provisioned", 13*time.Minute, provisionedO, func(m *machinev1.Machine) {
				m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "ip-10-0-0-1"}}
			}), request(t, "uid-o", "localhost", 10*time.Minute, usages), token("uid-o", "blue/mill-a-x"))},
		{name: "request-pending", ask: machineX, state: explain.Waiting, reason: "CertificatePending", objects: list(
			openshiftMachine("Provisioned", 2*time.Minute, provisionedO), request(t, "uid-o", "n-1", 5*time.Second, usages), token("uid-o", "blue/mill-a-x"))},
		{name: "node-joined-unready", ask: machineY, state: explain.Degraded, reason: "AwaitingNode", objects: list(class, gardenerMachine("Pending", 13*time.Minute, withNodeG),
			node("False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized", 11*time.Minute))},
		{name: "node-not-ready", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 4*time.Minute))},
		{name: "node-not-ready-checked", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent, check("workers"), check("others", func(c *lenient.MachineHealthCheck) {
			c.Spec.Selector.MatchLabels = map[string]string{"role": "master"}
		}), check("foreign", func(c *lenient.MachineHealthCheck) {
			c.Annotations = map[string]string{dialect.MachineAPIAnnotation: provider.Gardener}
		}))},
		{name: "node-not-ready-restricted", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent, check("workers", saysC("RemediationAllowed", "TooManyUnhealthy", "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 10, unhealthy: 8, maxUnhealthy: 40%)")))},
		{name: "node-not-ready-storm", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent, check("workers", saysC("Calm", "Storm", "10 of 10 machines of zone a are sick; now: 0 remedied, 10 left")))},
		{name: "instance-stopped", ask: machineX, state: explain.Degraded, reason: "InstanceStopped", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, stoppedO), silent)},
		{name: "instance-stopped-unnoticed", ask: machineX, state: explain.Degraded, reason: "InstanceStopped", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, stoppedO), node("True", "KubeletReady", "", 4*time.Hour))},
		{name: "instance-stopped-timed", ask: machineY, state: explain.Degraded, reason: "InstanceStopped", objects: list(class, gardenerMachine("Unknown", 8*time.Minute, withNodeG, func(m *v1alpha1.Machine) {
			m.Annotations = map[string]string{dialect.StoppedAnnotation: "missing"}
		}), node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 4*time.Minute))},
		{name: "node-lost-timed", ask: machineY, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(class, gardenerMachine("Unknown", 8*time.Minute, withNodeG,
			operationG("HealthCheck", "Processing", "", "Machine mill-b-y is unhealthy - changing MachinePhase to Unknown. Node conditions: [Ready=Unknown]")), node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", 4*time.Minute))},
		{name: "failure-withheld", ask: machineY, state: explain.Degraded, reason: "FailureWithheld", objects: list(class, gardenerMachine("Unknown", time.Hour, withNodeG), node("Unknown", "NodeStatusUnknown", "", 40*time.Minute))},
		{name: "node-gone", ask: machineX, state: explain.Failed, reason: "NodeMissing", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO))},
		{name: "failed-join", ask: machineY, state: explain.Failed, reason: "Failed", objects: list(class, kept(t, provider.Gardener, "mill-b-y", "uid-g"), gardenerMachine("Failed", 22*time.Minute,
			operationG("Create", "Failed", "", "Machine mill-b-y failed to join the cluster in 20 minutes.")))},
		{name: "preserved", ask: machineY, state: explain.Failed, reason: "Failed", objects: list(class, gardenerMachine("Failed", time.Hour, withNodeG, func(m *v1alpha1.Machine) {
			m.Status.CurrentStatus.PreserveExpiryTime = ptr.To(ago(-72 * time.Hour))
			operationG("HealthCheck", "Failed", "", "Machine mill-b-y health checks failing since last 10 minutes.")(m)
		}), node("False", "KubeletNotReady", "PLEG is not healthy", time.Hour))},
		{name: "update-failed", ask: machineY, state: explain.Failed, reason: "UpdateFailed", objects: list(class, gardenerMachine("InPlaceUpdateFailed", time.Hour, withNodeG,
			operationG("InPlaceUpdate", "Failed", "", "Update failed: disk is full")), updateFailed(node("True", "", "", time.Hour)))},
		{name: "drain-blocked", ask: machineX, state: explain.Stuck, reason: "DisruptionBudget", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(3*time.Hour+12*time.Minute), drainError), cordoned(node("True", "", "", 8*time.Hour)),
			pod("web-1", "n-1", "True", ""), pod("web-2", "n-2", "False", "containers with unready status: [web]"), budget(1, 1, 2))},
		{name: "drain-never", ask: machineY, state: explain.Stuck, reason: "DisruptionBudget", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(40*time.Minute)), cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""), budget(1, 1, 1))},
		{name: "drain-goes-on", ask: machineY, state: explain.Deleting, reason: "Draining", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Minute)), cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""))},
		{name: "hook", ask: machineX, state: explain.Stuck, reason: "PreDrainHookPresent", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(2*time.Hour+30*time.Minute), func(m *machinev1.Machine) {
				m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "EtcdQuorum", Owner: "clusteroperator/etcd"}}
			}), node("True", "", "", 8*time.Hour))},
		{name: "machine-budget", ask: machineX, state: explain.Stuck, reason: "MachineDisruptionBudget", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(2*time.Hour), conditionO("DisruptionBudgetStarted", corev1.ConditionTrue, "", "Waits for machine disruption budget production, which permits no scale-down until 2026-11-30T17:00:00+01:00", 90*time.Minute)),
			node("True", "", "", 8*time.Hour))},
		{name: "machine-budget-g", ask: machineY, state: explain.Stuck, reason: "MachineDisruptionBudget", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(2*time.Hour), startedG(lifecycle.DeletionBudget, 2*time.Hour),
				operationG("Delete", "Processing", "", "Waits for machine disruption budget emergency-stop, which is paused (storage is down). Initiate node drain")), node("True", "", "", 8*time.Hour))},
		{name: "machine-budget-over", ask: machineX, state: explain.Deleting, reason: "Draining", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(2*time.Hour), startedO(lifecycle.DeletionBudget, 2*time.Hour), startedO(lifecycle.DeletionDrain, time.Minute)),
			cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""))},
		{name: "volume-attached", ask: machineY, state: explain.Stuck, reason: "VolumeStillAttached", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(15*time.Minute)), cordoned(node("True", "", "", 8*time.Hour)), attachment())},
		{name: "instance-going", ask: machineY, state: explain.Deleting, reason: "Terminating", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Minute), operationG("Delete", "Processing", "", "Drain successful. Initiate VM deletion")), cordoned(node("True", "", "", 8*time.Hour)))},
		{name: "drain-since", ask: machineX, state: explain.Stuck, reason: "DisruptionBudget", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(5*time.Hour), startedO(lifecycle.DeletionPreDrainHook, 5*time.Hour), startedO(lifecycle.DeletionDrain, 3*time.Hour+12*time.Minute), drainError),
			cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""), budget(1, 1, 1))},
		{name: "volume-since", ask: machineY, state: explain.Stuck, reason: "VolumeStillAttached", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour), startedG(lifecycle.DeletionDrain, time.Hour), startedG(lifecycle.DeletionVolumeDetach, 15*time.Minute)),
			cordoned(node("True", "", "", 8*time.Hour)), attachment())},
		{name: "instance-since", ask: machineY, state: explain.Deleting, reason: "Terminating", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour), startedG(lifecycle.DeletionDrain, time.Hour), startedG(lifecycle.DeletionInstance, 4*time.Minute)), cordoned(node("True", "", "", 8*time.Hour)))},
		{name: "hook-since", ask: machineX, state: explain.Stuck, reason: "PreTerminateHookPresent", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), startedO(lifecycle.DeletionDrain, time.Hour), startedO(lifecycle.DeletionPreTerminateHook, 20*time.Minute),
				conditionO("Drained", corev1.ConditionTrue, "", "Drain finished successfully", 20*time.Minute), func(m *machinev1.Machine) {
					m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "backup", Owner: "backup-operator"}}
				}), node("True", "", "", 8*time.Hour))},
		{name: "removal-denied", ask: machineY, state: explain.Stuck, reason: "TerminateFailed", objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour), operationG("Delete", "Failed", "PermissionDenied", "machine codes error: code = [PermissionDenied] message = [access key is disabled]. Initiate VM deletion")))},
		{name: "removal-refused", ask: machineX, state: explain.Stuck, reason: "TerminateFailed", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), startedO(lifecycle.DeletionDrain, time.Hour),
				conditionO("InstanceDeletionStarted", corev1.ConditionTrue, "InstanceListed", "Failed to delete the instance: it is locked", 50*time.Minute)))},
		{name: "removal-without-class", ask: machineY, state: explain.Stuck, reason: "InstanceUnreachable", objects: list(
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour), operationG("Delete", "Failed", "Unavailable", "machine codes error: code = [Unavailable] message = [read machineclass small: not found]. Now, getting VM Status")))},
		{name: "foreign-finalizer", ask: machineX, state: explain.Stuck, reason: "ForeignFinalizer", objects: list(openshiftMachine("Deleting", 9*time.Hour, deletedO(time.Hour), func(m *machinev1.Machine) {
			m.Finalizers = []string{"backup.example/wait"}
		}))},
		{name: "gone-with-evidence", ask: "machine/mill-a-gone", state: explain.Gone, reason: "NeverJoined", objects: list(kept(t, provider.OpenShift, "mill-a-gone", "uid-gone"))},
		{name: "gone-for-its-node", ask: "machine/mill-b-gone", state: explain.Gone, reason: "NodeDeleted", objects: list(keptFor(t, postmortem.NodeDeleted, "node n-1 was deleted"))},
		{name: "unknown-name", ask: "machine/mill-a-z", state: explain.Unknown, reason: "NotFound", objects: list(openshiftMachine("Running", time.Hour, withNodeO))},
		{name: "ambiguous", ask: "machine/same", state: explain.Ambiguous, reason: "SeveralObjects", objects: list(
			openshiftMachine("Running", time.Hour, func(m *machinev1.Machine) { m.Name = "same" }), gardenerMachine("Running", time.Hour, func(m *v1alpha1.Machine) { m.Name = "same" }))},
		{name: "rights-missing", ask: machineX, state: explain.Stuck, reason: "PreTerminateHookPresent", refuse: forbid("*v1.PodList", "*v1.EventList", "*v1.ConfigMapList", "*v1.VolumeAttachmentList"), objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), conditionO("Drained", corev1.ConditionTrue, "", "Drain finished successfully", time.Hour), func(m *machinev1.Machine) {
				m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "backup", Owner: "backup-operator"}}
			}), cordoned(node("True", "", "", 8*time.Hour)))},
		{name: "node-not-readable", ask: machineX, state: explain.Unknown, reason: "NodeLookupFailed", refuse: forbid("*v1.Node"), objects: list(openshiftMachine("Running", 9*time.Hour, withNodeO))},
	}
}

// decided returns situations that only the engine's decision reveals, because no object records them.
func decided() []situation {
	other := budget(3, 1, 3)
	other.Name, other.Status.DisruptionsAllowed = "web-too", 2
	contradicted := conditionO("InstanceExists", corev1.ConditionUnknown, "InstanceContradicted", "the infrastructure does not list instance i-1, but node n-1 reports Ready under it: check the credentials", 5*time.Minute)
	return []situation{
		{name: "join-overdue", ask: machineY, state: explain.Failed, reason: "JoinTimeout", objects: list(class, gardenerMachine("Pending", 21*time.Minute, withNodeG))},
		{name: "create-overdue", ask: machineY, state: explain.Failed, reason: "CreateTimeout", objects: list(class, gardenerMachine("CrashLoopBackOff", 21*time.Minute,
			operationG("Create", "Failed", "ResourceExhausted", "machine codes error: code = [ResourceExhausted] message = [quota of 20 CPUs is used up]")))},
		{name: "joining-alone", ask: machineX, state: explain.Progressing, reason: "AwaitingNode", objects: list(openshiftMachine("Provisioned", 2*time.Minute, provisionedO))},
		{name: "node-deleted", ask: machineY, state: explain.Degraded, reason: "NodeMissing", objects: list(class, gardenerMachine("Running", time.Hour, withNodeG))},
		{name: "uncordoned-again", ask: machineX, state: explain.Deleting, reason: "Draining", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), conditionO("Drained", corev1.ConditionTrue, "", "Drain finished successfully", time.Hour)),
			node("True", "", "", 8*time.Hour), pod("web-1", "n-1", "True", ""))},
		{name: "node-not-ready-unwatched", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent, check("workers", func(c *lenient.MachineHealthCheck) {
			c.Spec.UnhealthyConditions[0].Status = "False"
		}))},
		{name: "node-not-ready-due", ask: machineX, state: explain.Degraded, reason: "NodeUnhealthy", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent, check("late"), check("soon", func(c *lenient.MachineHealthCheck) {
			c.Spec.UnhealthyConditions[0].Timeout = "1m"
		}))},
		{name: "no-node-checked", ask: machineX, state: explain.Degraded, reason: "AwaitingNode", objects: list(openshiftMachine("Provisioned", 9*time.Minute, provisionedO), check("workers"))},
		{name: "several-budgets", ask: machineX, state: explain.Stuck, reason: "SeveralDisruptionBudgets", objects: list(
			openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour)), cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""), budget(1, 1, 1), other)},
		{name: "not-owned", ask: machineX, state: explain.Healthy, reason: "Running", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, func(m *machinev1.Machine) { m.OwnerReferences = nil }), node("True", "", "", 4*time.Hour))},
		{name: "contradicted", ask: machineX, state: explain.Degraded, reason: "InstanceContradicted", objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, contradicted), node("True", "", "", 4*time.Hour))},
		{name: "contradicted-gardener", ask: machineY, state: explain.Degraded, reason: "InstanceContradicted", objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG,
			operationG("HealthCheck", "Processing", "", "the infrastructure does not list instance i-1, but node n-1 reports Ready under it: check the credentials")), node("True", "", "", 4*time.Hour))},
		{name: "set-no-growth", ask: "ms/mill-b", state: explain.Waiting, reason: "Held", objects: list(gardenerSet(3, 1, 1, func(s *v1alpha1.MachineSet) {
			s.Labels = map[string]string{v1alpha1.LabelKeyScaleUpDisabled: ""}
		}))},
		{name: "set-shared", ask: "machineset/mill-a", state: explain.Degraded, reason: "SelectorShared", objects: list(openshiftSet(0, 0, 0), openshiftSet(0, 0, 0, func(s *machinev1.MachineSet) { s.Name, s.UID = "mill-twin", "uid-twin" }))},
		{name: "set-machine-stuck", ask: "machineset/mill-a", state: explain.Degraded, reason: "PreDrainHookPresent", objects: list(openshiftSet(1, 1, 1), node("True", "", "", 4*time.Hour),
			openshiftMachine("Deleting", 5*time.Hour, withNodeO, deletedO(time.Hour), func(m *machinev1.Machine) {
				m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "backup", Owner: "velero"}}
			}))},
	}
}

// others returns situations of health checks and machine classes.
func others() []situation {
	counted := func(expected, healthy int64) func(*lenient.MachineHealthCheck) {
		return func(c *lenient.MachineHealthCheck) {
			c.Status.ExpectedMachines, c.Status.CurrentHealthy = ptr.To(expected), ptr.To(healthy)
			c.CreationTimestamp = ago(time.Hour)
		}
	}
	secretive := class.DeepCopy()
	secretive.SecretRef = &corev1.SecretReference{Name: "nope"}
	leaving := class.DeepCopy()
	leaving.DeletionTimestamp, leaving.Finalizers = ptr.To(ago(time.Minute)), []string{"machine.sapcloud.io/machine-controller"}
	const workers, small = "mhc/workers", "machineclass/small"
	return []situation{
		{name: "check-in-order", ask: workers, state: explain.Healthy, reason: "AllHealthy", objects: list(check("workers", counted(3, 3)))},
		{name: "check-empty", ask: workers, state: explain.Degraded, reason: "NoMachines", objects: list(check("workers", counted(0, 0)))},
		{name: "check-invalid", ask: workers, state: explain.Failed, reason: "InvalidSpec", objects: list(check("workers", counted(0, 0), saysC("Valid", "InvalidSpec", `spec.selector.matchExpressions[0].operator: "Equals" is not a valid label selector operator`)))},
		{name: "check-foreign", ask: workers, state: explain.Stuck, reason: "TargetClusterReplaced", objects: list(check("workers", counted(3, 1), saysC("RemediationAllowed", "TargetClusterReplaced", "Remediation is not allowed: "+lifecycle.ForeignTarget("uid-1", "uid-2", ""))))},
		{name: "check-nodes-missing", ask: workers, state: explain.Stuck, reason: "NodesMissingTogether", objects: list(check("workers", counted(3, 1), saysC("RemediationAllowed", "NodesMissingTogether", "Remediation is not allowed: "+lifecycle.Absent(4, 0))))},
		{name: "check-cluster-unknown", ask: workers, state: explain.Stuck, reason: "TargetClusterUnknown", objects: list(check("workers", counted(3, 1), saysC("RemediationAllowed", "TargetClusterUnknown", "Remediation is not allowed: no route to host")))},
		{name: "check-restricted", ask: workers, state: explain.Degraded, reason: "TooManyUnhealthy", objects: list(check("workers", counted(3, 1), saysC("RemediationAllowed", "TooManyUnhealthy", "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 1)")))},
		{name: "check-storm", ask: workers, state: explain.Waiting, reason: "Storm", objects: list(check("workers", counted(9, 2), saysC("Calm", "Storm", "7 of 9 machines of zone a are sick; now: 0 remedied, 7 left")))},
		{name: "check-at-work", ask: workers, state: explain.Progressing, reason: "Unhealthy", objects: list(check("workers", counted(3, 2)))},
		{name: "check-unseen", ask: workers, state: explain.Failed, reason: "NotSeen", objects: list(check("workers", func(c *lenient.MachineHealthCheck) { c.CreationTimestamp = ago(time.Hour) }))},
		{name: "check-unattended", ask: workers, state: explain.Degraded, reason: "ControllerNotRunning", leases: list(lease("cluster-api-provider-machineset-leader", "", time.Hour)), objects: list(check("workers", counted(3, 2)))},
		{name: "class-used", ask: small, state: explain.Healthy, reason: "Exists", objects: list(class, gardenerMachine("Running", time.Hour))},
		{name: "class-without-secret", ask: small, state: explain.Degraded, reason: "SecretMissing", objects: list(secretive, gardenerMachine("CrashLoopBackOff", time.Hour))},
		{name: "class-in-use", ask: "machineclasses.machine.sapcloud.io/small", state: explain.Stuck, reason: "InUse", objects: list(leaving, gardenerMachine("Running", time.Hour), gardenerSet(1, 1, 1))},
		{name: "class-refused", ask: machineY, state: explain.Degraded, reason: "InvalidConfiguration", objects: list(class, gardenerMachine("CrashLoopBackOff", 6*time.Minute,
			operationG("Create", "Failed", "InvalidArgument", `machine codes error: code = [InvalidArgument] message = [machineclass small: providerSpec.numCors: unknown field "numCors"]`)))},
	}
}

// unattended returns situations in which a controller does not run, or may not run. The controller wrote the status
// of the object earlier.
func unattended() []situation {
	machines := func(holder string, renewed time.Duration) []client.Object {
		return list(lease("cluster-api-provider-test-leader", holder, renewed), lease("machine-controller", holder, renewed),
			lease("cluster-api-provider-machineset-leader", "pod-2", time.Second)) // the controller of sets, which does not act on machines
	}
	return []situation{
		{
			name: "controller-gone-new", ask: machineX, state: explain.Degraded, reason: "ControllerNotRunning", leases: machines("", 77*time.Second),
			objects: list(openshiftMachine("Provisioning", 2*time.Minute)),
		},
		{name: "controller-gone-deleting", ask: machineY, state: explain.Stuck, reason: "ControllerNotRunning", leases: machines("", 77*time.Second), objects: list(class,
			gardenerMachine("Running", 9*time.Hour, withNodeG, deletedG(77*time.Second), operationG("Create", "Successful", "", "Machine mill-b-y successfully joined the cluster in 5s")), node("True", "", "", 8*time.Hour))},
		{name: "controller-silent-removal", ask: machineY, state: explain.Stuck, reason: "ControllerNotRunning", leases: machines("pod-1", 4*time.Minute), objects: list(class,
			gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour), startedG(lifecycle.DeletionInstance, 4*time.Minute)))},
		{name: "controller-gone-quota", ask: machineY, state: explain.Degraded, reason: "ControllerNotRunning", leases: machines("", time.Hour), objects: list(class,
			gardenerMachine("CrashLoopBackOff", 6*time.Minute, operationG("Create", "Failed", "ResourceExhausted", "machine codes error: code = [ResourceExhausted] message = [quota of 20 CPUs is used up]")))},
		{
			name: "controller-standby", ask: machineX, state: explain.Progressing, reason: "InstanceNotCreated", leases: append(machines("", time.Hour), lease("cluster-api-provider-other-leader", "pod-3", time.Second)),
			objects: list(openshiftMachine("Provisioning", 2*time.Minute)),
		},
		{name: "controller-unknown", ask: machineX, state: explain.Progressing, reason: "InstanceNotCreated", leases: []client.Object{}, objects: list(openshiftMachine("Provisioning", 2*time.Minute))},
		{name: "controller-not-readable", ask: machineX, state: explain.Progressing, reason: "InstanceNotCreated", refuse: forbid("*v1.LeaseList"), objects: list(openshiftMachine("Provisioning", 2*time.Minute))},
		{
			name: "set-controller-gone", ask: "machineset/mill-a", state: explain.Degraded, reason: "ControllerNotRunning", leases: list(lease("cluster-api-provider-machineset-leader", "", time.Minute)),
			objects: list(openshiftSet(3, 1, 1)),
		},
	}
}

func list(o ...client.Object) []client.Object { return o }

// TestSituations: for each situation, the answer as text and as JSON equals the stored one.
func TestSituations(t *testing.T) {
	for _, s := range slices.Concat(machines(t), decided(), unattended(), groups(), others(), clusters(t)) {
		t.Run(s.name, func(t *testing.T) {
			if s.leases == nil {
				s.leases = atWork()
			}
			c := cluster(t, s.refuse, slices.Concat(s.objects, s.leases)...)
			q, err := collect.Parse(s.ask)
			if err != nil {
				t.Fatal(err)
			}
			q.Home, q.Namespace, q.Tree = ns, s.namespaceSaid, s.tree
			a, err := collect.Ask(t.Context(), now, collect.Clusters{Control: c, Target: c}, q)
			if err != nil {
				t.Fatal(err)
			}
			if a.State != s.state || a.Reason != s.reason {
				t.Errorf("state and reason %s/%s, want %s/%s: %s", a.State, a.Reason, s.state, s.reason, a.Sentence)
			}
			raw, err := json.MarshalIndent(a, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			text := a.Text(now)
			if a.Tree != nil {
				text += a.Tree.Tree(now, func(line string) string { return line })
			}
			golden(t, s.name+".txt", []byte(text))
			golden(t, s.name+".json", append(raw, '\n'))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", file, got, want)
	}
}
