package openshift

import (
	"fmt"
	"strconv"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// The defaults of fields that a deployment omits.
const (
	defaultReplicas     = 1
	defaultHistoryLimit = 1
	defaultDeadline     = 600 // seconds
)

var defaultSurge, defaultUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)

// Deployments reads and writes machine deployments of this API.
type Deployments struct{}

// deployedSets reads and writes the sets of such deployments, deployedMachines their machines.
type (
	deployedSets     struct{}
	deployedMachines struct{}
)

var _ dialect.Deployments[*v1beta1.MachineDeployment, *machinev1.MachineSet] = Deployments{}

// Traits implements [dialect.Deployments]. There is no finalizer: the garbage collector deletes the sets of a
// deployment, and the machines of a set.
func (Deployments) Traits() dialect.DeploymentTraits {
	return dialect.DeploymentTraits{
		Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindMachineDeployment),
		Events: dialect.DeploymentEvents{
			Scaled:            "ScalingMachineSet",
			CreateError:       string(rollout.SetCreateError),
			SelectsAll:        string(rollout.SelectsAll),
			Invalid:           "ReconcileError",
			RolledBack:        "DeploymentRollback",
			RevisionNotFound:  "DeploymentRollbackRevisionNotFound",
			TemplateUnchanged: "DeploymentRollbackTemplateUnchanged",
			Stopped:           string(rollout.Stopped),
			Resumed:           "RolloutResumed",
			Canary:            "RolloutCanary",
		},
	}
}

// New implements [dialect.Deployments].
func (Deployments) New() *v1beta1.MachineDeployment { return &v1beta1.MachineDeployment{} }

// Sets implements [dialect.Deployments].
func (Deployments) Sets() dialect.DeployedSets[*v1beta1.MachineDeployment, *machinev1.MachineSet] {
	return deployedSets{}
}

// Machines implements [dialect.Deployments].
func (Deployments) Machines() dialect.DeployedMachines { return deployedMachines{} }

// View returns the engine's facts of d. They have no wishes: the autoscaler of this API marks the machines
// itself before it lowers the replicas.
func (Deployments) View(d *v1beta1.MachineDeployment, _ time.Time) dialect.DeploymentView {
	return dialect.DeploymentView{Deployment: deploymentFacts(d), Policy: deploymentPolicy(d), Selector: deploymentSelector(d)}
}

func deploymentFacts(d *v1beta1.MachineDeployment) rollout.Deployment {
	guard, faults := dialect.ReadGuard(d.Annotations)
	guard.Growth = dialect.ReadGrowthGuard(d)
	v := rollout.Deployment{
		UID: d.UID, Namespace: d.Namespace, Name: d.Name,
		Replicas:     int(ptr.Deref(d.Spec.Replicas, defaultReplicas)),
		Strategy:     strategies[d.Spec.Strategy.Type],
		HistoryLimit: ptr.To(max(0, int(ptr.Deref(d.Spec.RevisionHistoryLimit, defaultHistoryLimit)))),
		Deadline:     time.Duration(max(0, ptr.Deref(d.Spec.ProgressDeadlineSeconds, defaultDeadline))) * time.Second,
		Paused:       d.Spec.Paused,
		Deleting:     d.DeletionTimestamp != nil,
		Faults:       append(deploymentFaults(d), faults...),
		Revision:     revision(d),
		Guard:        guard,
		Last:         last(&d.Status),
	}
	if v.Strategy == rollout.Rolling {
		b := rollingUpdate(d)
		v.Surge, v.Unavailable = b.MaxSurge, b.MaxUnavailable
	}
	if d.Spec.RollbackTo != nil {
		v.RollbackTo = ptr.To(d.Spec.RollbackTo.Revision)
	}
	return v
}

var strategies = map[v1beta1.MachineDeploymentStrategyType]rollout.Strategy{
	"": rollout.Rolling,
	v1beta1.RollingUpdateMachineDeploymentStrategyType: rollout.Rolling,
	v1beta1.OnDeleteMachineDeploymentStrategyType:      rollout.OnDelete,
	v1beta1.RecreateMachineDeploymentStrategyType:      rollout.Recreate,
}

// rollingUpdate returns the block of that name, with its defaults.
func rollingUpdate(d *v1beta1.MachineDeployment) v1beta1.MachineRollingUpdateDeployment {
	b := ptr.Deref(d.Spec.Strategy.RollingUpdate, v1beta1.MachineRollingUpdateDeployment{})
	if b.MaxSurge == nil {
		b.MaxSurge = ptr.To(defaultSurge)
	}
	if b.MaxUnavailable == nil {
		b.MaxUnavailable = ptr.To(defaultUnavailable)
	}
	return b
}

// last reads the status. Progress has its own time: that of the condition is its last transition.
func last(s *v1beta1.MachineDeploymentStatus) rollout.Last {
	out := rollout.Last{
		Updated: int(s.UpdatedReplicas), Old: int(s.Replicas - s.UpdatedReplicas),
		Ready: int(s.ReadyReplicas), Available: int(s.AvailableReplicas),
	}
	c := deploymentCondition(s, v1beta1.MachineDeploymentProgressing)
	if c == nil {
		return out
	}
	out.Progress = rollout.Progress{
		Status: rollout.Truth(c.Status), Reason: rollout.Reason(c.Reason), Message: c.Message, Since: c.LastTransitionTime.Time,
	}
	if s.LastProgressTime != nil {
		out.Progress.Since = s.LastProgressTime.Time
	}
	return out
}

// deploymentFaults returns the errors for which the controller does not act on d. The size of a bound is no
// error: surge and unavailable are limited by the number of machines, and if both are zero, one machine may
// be unavailable.
func deploymentFaults(d *v1beta1.MachineDeployment) (out []lifecycle.Fault) {
	add := func(field, message string) { out = append(out, lifecycle.Fault{Field: field, Message: message}) }
	if n := d.Spec.Replicas; n != nil && *n < 0 {
		add("spec.replicas", fmt.Sprintf("must not be negative, is %d", *n))
	}
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	switch {
	case err != nil:
		add("spec.selector", err.Error())
	case selector.Empty():
		add("spec.selector", dialect.SelectsEverything)
	case !selector.Matches(labels.Set(d.Spec.Template.Labels)):
		add("spec.template.metadata.labels", "are not matched by spec.selector")
	}
	if a := d.Spec.Template.Spec.AuthoritativeAPI; authority(a) != machinev1.MachineAuthorityMachineAPI {
		add("spec.template.spec.authoritativeAPI", fmt.Sprintf("must be %s, is %q: machines of a deployment are managed here", machinev1.MachineAuthorityMachineAPI, a))
	}
	return append(out, strategyFaults(d)...)
}

func strategyFaults(d *v1beta1.MachineDeployment) (out []lifecycle.Fault) {
	strategy, known := strategies[d.Spec.Strategy.Type]
	if !known {
		out = append(out, lifecycle.Fault{
			Field:   "spec.strategy.type",
			Message: fmt.Sprintf("must be RollingUpdate, OnDelete or Recreate, is %q", d.Spec.Strategy.Type),
		})
	}
	const field = "spec.strategy.rollingUpdate"
	b := rollingUpdate(d)
	if strategy == rollout.Rolling {
		out = append(out, dialect.CheckBound(field+".maxSurge", b.MaxSurge, false)...)
		out = append(out, dialect.CheckBound(field+".maxUnavailable", b.MaxUnavailable, false)...)
	}
	if _, ok := deleteOrders[machinev1.MachineSetDeletePolicy(b.DeletePolicy)]; !ok {
		out = append(out, lifecycle.Fault{
			Field: field + ".deletePolicy", Message: fmt.Sprintf("must be Random, Newest or Oldest, is %q", b.DeletePolicy),
		})
	}
	return out
}

// deploymentPolicy: there are never more machines than requested unless overlap is requested, too. With
// OnDelete a machine is replaced while it is being deleted, as in sets of this API.
func deploymentPolicy(d *v1beta1.MachineDeployment) rollout.Policy {
	onDelete := strategies[d.Spec.Strategy.Type] == rollout.OnDelete
	return rollout.Policy{
		MinReady:          time.Duration(d.Spec.MinReadySeconds) * time.Second,
		LeavingTakesRoom:  !onDelete && !millwright.Read(d.Annotations).On(dialect.OverlapAnnotation),
		AvoidOld:          true,
		StayDuringRollout: true,
	}
}

// deploymentSelector matches nothing if d's selector is invalid.
func deploymentSelector(d *v1beta1.MachineDeployment) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil || selector.Empty() {
		return labels.Nothing()
	}
	return selector
}

// Adopts adopts sets that a deployment of this name created and left behind: by the annotation, and by the
// name, which follows from the hash. A set that a user created is never adopted, nor a copy of one of our
// sets under another name.
func (deployedSets) Adopts(d *v1beta1.MachineDeployment, s *machinev1.MachineSet) bool {
	return s.Annotations[DeploymentAnnotation] == d.Name && s.Name == setName(d.Name, s.Labels[TemplateHashLabel])
}

// revision returns the recorded revision; 0 if none exists, or no number.
func revision(o client.Object) int64 {
	n, err := strconv.ParseInt(o.GetAnnotations()[RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
