// Package verdict decides the operator's report about itself and its operands: the conditions of
// ClusterOperator machine-api, whether a rollout is over, and whether there are enough machines to call an
// installation done. It does no I/O (sections 7.3 and 7.4 of the OpenShift notes in docs/originals).
package verdict

import (
	"fmt"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of conditions.
const (
	reasonAsExpected = "AsExpected"
	reasonInitial    = "Initializing"
	reasonSyncing    = "SyncingResources"
	reasonFailed     = "SyncingFailed"
)

// upgradeTimeout is how long a failure may be part of an upgrade.
const upgradeTimeout = 20 * time.Minute

// operand names the version in the status.
const operand = "operator"

// Event is an event to record.
type Event struct {
	Type, Reason, Message string
}

// Reporter decides the conditions at one moment.
type Reporter struct {
	Now time.Time
	// Release is the version of this operator; empty: unknown, and never shown.
	Release string
	// Namespace is that of the operands.
	Namespace string
}

// Begin adds to a status the conditions that it lacks, and sets the fields that every status has.
func (r Reporter) Begin(before configv1.ClusterOperatorStatus) configv1.ClusterOperatorStatus {
	s := *before.DeepCopy()
	const message = "Operator is initializing"
	for _, c := range []configv1.ClusterOperatorStatusCondition{
		{Type: configv1.OperatorProgressing, Status: configv1.ConditionTrue, Reason: reasonInitial, Message: message},
		{Type: configv1.OperatorDegraded, Status: configv1.ConditionFalse, Reason: reasonAsExpected},
		{Type: configv1.OperatorAvailable, Status: configv1.ConditionFalse, Reason: reasonInitial, Message: message},
	} {
		if condition(s, c.Type) == nil {
			r.set(&s, c)
		}
	}
	r.set(&s, configv1.ClusterOperatorStatusCondition{Type: configv1.OperatorUpgradeable, Status: configv1.ConditionTrue})
	s.RelatedObjects = r.related()
	return s
}

// related are the objects that must-gather collects.
func (r Reporter) related() []configv1.ObjectReference {
	machines, rbac := machinev1.GroupName, rbacv1.GroupName
	return []configv1.ObjectReference{
		{Resource: "namespaces", Name: r.Namespace},
		{Group: machines, Resource: "machines", Namespace: r.Namespace},
		{Group: machines, Resource: "machinesets", Namespace: r.Namespace},
		{Group: machines, Resource: "machinehealthchecks", Namespace: r.Namespace},
		{Group: rbac, Resource: "roles", Namespace: r.Namespace},
		{Group: rbac, Resource: "clusterroles", Name: "machine-api-operator"},
		{Group: rbac, Resource: "clusterroles", Name: "machine-api-controllers"},
		{Group: "metal3.io", Resource: "baremetalhosts", Namespace: r.Namespace},
	}
}

// Progressing is the status when a pass begins.
func (r Reporter) Progressing(before configv1.ClusterOperatorStatus) (configv1.ClusterOperatorStatus, []Event) {
	s := r.Begin(before)
	if r.reached(s) {
		r.set(&s, configv1.ClusterOperatorStatusCondition{Type: configv1.OperatorProgressing, Status: configv1.ConditionFalse, Reason: reasonAsExpected})
		return s, nil
	}
	message := "Progressing towards " + r.towards()
	was := condition(s, configv1.OperatorProgressing)
	told := was.Status == configv1.ConditionTrue && was.Reason == reasonSyncing && was.Message == message
	if was.Status == configv1.ConditionTrue && was.Reason == reasonSyncing && was.Message != message {
		was.LastTransitionTime = metav1.NewTime(r.Now) // another upgrade, with its own timeout
	}
	r.set(&s, configv1.ClusterOperatorStatusCondition{Type: configv1.OperatorProgressing, Status: configv1.ConditionTrue, Reason: reasonSyncing, Message: message})
	if told {
		return s, nil
	}
	return s, []Event{{corev1.EventTypeNormal, "Status upgrade", message}}
}

// Available is the status when the cluster is in its intended state.
func (r Reporter) Available(before configv1.ClusterOperatorStatus, message string) configv1.ClusterOperatorStatus {
	s := r.Begin(before)
	for _, c := range []configv1.ClusterOperatorStatusCondition{
		{Type: configv1.OperatorAvailable, Status: configv1.ConditionTrue, Reason: reasonAsExpected, Message: message},
		{Type: configv1.OperatorProgressing, Status: configv1.ConditionFalse, Reason: reasonAsExpected},
		{Type: configv1.OperatorDegraded, Status: configv1.ConditionFalse, Reason: reasonAsExpected},
	} {
		r.set(&s, c)
	}
	if r.Release != "" {
		s.Versions = []configv1.OperandVersion{{Name: operand, Version: r.Release}}
	}
	return s
}

// NoOpMessage is the message of an operator that is available and has no operands.
const NoOpMessage = "Cluster Machine API Operator is in NoOp mode"

// AvailableMessage is the message of an available operator with operands.
func (r Reporter) AvailableMessage() string {
	return "Cluster Machine API Operator is available at " + r.towards()
}

// Degraded is the status when a pass failed for a cause. During an upgrade, this report is held back
// for 20 minutes, unless atOnce: no upgrade fixes invalid input.
func (r Reporter) Degraded(before configv1.ClusterOperatorStatus, cause error, atOnce bool) (configv1.ClusterOperatorStatus, []Event) {
	s := r.Begin(before)
	was := condition(s, configv1.OperatorProgressing)
	upgrading := was.Status == configv1.ConditionTrue
	if upgrading && !atOnce && r.Now.Sub(was.LastTransitionTime.Time) < upgradeTimeout {
		return s, nil
	}
	message := fmt.Sprintf("Failed to resync for %s because %v", r.towards(), cause)
	if upgrading {
		message = fmt.Sprintf("Failed when progressing towards %s because %v", r.towards(), cause)
	}
	old := condition(s, configv1.OperatorDegraded)
	told := old.Status == configv1.ConditionTrue && old.Message == message
	r.set(&s, configv1.ClusterOperatorStatusCondition{Type: configv1.OperatorDegraded, Status: configv1.ConditionTrue, Reason: reasonFailed, Message: message})
	if told {
		return s, nil
	}
	return s, []Event{{corev1.EventTypeWarning, "Status degraded", message}}
}

// Initializing reports whether the operator was never available.
func Initializing(s configv1.ClusterOperatorStatus) bool {
	c := condition(s, configv1.OperatorAvailable)
	return c == nil || c.Reason == reasonInitial
}

func (r Reporter) towards() string { return operand + ": " + r.Release }

// reached reports whether the versions are those of this operator.
func (r Reporter) reached(s configv1.ClusterOperatorStatus) bool {
	if r.Release == "" {
		return !Initializing(s)
	}
	return slices.Equal(s.Versions, []configv1.OperandVersion{{Name: operand, Version: r.Release}})
}

// set changes one condition; its time is that of the last change of its status.
func (r Reporter) set(s *configv1.ClusterOperatorStatus, to configv1.ClusterOperatorStatusCondition) {
	was := condition(*s, to.Type)
	if was == nil {
		to.LastTransitionTime = metav1.NewTime(r.Now)
		s.Conditions = append(s.Conditions, to)
		return
	}
	to.LastTransitionTime = was.LastTransitionTime
	if was.Status != to.Status || was.LastTransitionTime.IsZero() {
		to.LastTransitionTime = metav1.NewTime(r.Now)
	}
	*was = to
}

// condition is the condition of a type, to be changed in place; nil if it does not exist.
func condition(s configv1.ClusterOperatorStatus, kind configv1.ClusterStatusConditionType) *configv1.ClusterOperatorStatusCondition {
	i := slices.IndexFunc(s.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}
