package gardener

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Deployments reads and writes machine deployments of this API.
type Deployments struct {
	// StayDuringRollout keeps the autoscaler from removing nodes during a
	// rollout (--autoscaler-scaledown-annotation-during-rollout).
	StayDuringRollout bool
	// Nodeless says that there is no target cluster.
	Nodeless bool
}

// deployedSets reads and writes the sets of such deployments, deployedMachines their machines.
type (
	deployedSets     struct{}
	deployedMachines struct{}
)

var (
	_ dialect.Deployments[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet] = Deployments{}
	_ dialect.Mover[*v1alpha1.MachineSet]                                    = deployedMachines{}
	_ dialect.VictimMarker                                                   = deployedMachines{}
)

// Traits implements [dialect.Deployments]. The last four events and Invalid are additions to the original's.
func (Deployments) Traits() dialect.DeploymentTraits {
	return dialect.DeploymentTraits{
		Kind:      v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineDeployment),
		Finalizer: v1alpha1.FinalizerMachine,
		Events: dialect.DeploymentEvents{
			Scaled:            "ScalingMachineSet",
			CreateError:       v1alpha1.ReasonMachineSetCreateError,
			SelectsAll:        string(rollout.SelectsAll),
			RolledBack:        "DeploymentRollback",
			RevisionNotFound:  "DeploymentRollbackRevisionNotFound",
			TemplateUnchanged: "DeploymentRollbackTemplateUnchanged",
			Invalid:           string(rollout.InvalidObject),
			Stopped:           string(rollout.Stopped),
			Resumed:           "RolloutResumed",
			Canary:            "RolloutCanary",
		},
	}
}

// New implements [dialect.Deployments].
func (Deployments) New() *v1alpha1.MachineDeployment { return &v1alpha1.MachineDeployment{} }

// Sets implements [dialect.Deployments].
func (Deployments) Sets() dialect.DeployedSets[*v1alpha1.MachineDeployment, *v1alpha1.MachineSet] {
	return deployedSets{}
}

// Machines implements [dialect.Deployments].
func (Deployments) Machines() dialect.DeployedMachines { return deployedMachines{} }

// View returns the engine's facts of d. The label freeze only mirrors the sets, each of which stops growing
// by itself.
func (l Deployments) View(d *v1alpha1.MachineDeployment, now time.Time) dialect.DeploymentView {
	return dialect.DeploymentView{Deployment: deploymentFacts(d, now), Policy: l.policy(d), Selector: deploymentSelector(d)}
}

func deploymentFacts(d *v1alpha1.MachineDeployment, now time.Time) rollout.Deployment {
	guard, faults := dialect.ReadGuard(d.Annotations)
	guard.Growth = dialect.ReadGrowthGuard(d)
	bounds, byHand := bounds(d)
	v := rollout.Deployment{
		UID: d.UID, Namespace: d.Namespace, Name: d.Name,
		Replicas:   int(d.Spec.Replicas),
		Strategy:   strategies[d.Spec.Strategy.Type],
		Surge:      bounds.MaxSurge,
		ByHand:     byHand,
		Deadline:   deadline(d),
		Paused:     d.Spec.Paused,
		Deleting:   d.DeletionTimestamp != nil,
		Orphaning:  slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents),
		Faults:     append(deploymentFaults(d), faults...),
		Revision:   revision(d),
		Wishes:     wishes(d, now),
		Guard:      guard,
		Last:       last(d),
		RollbackTo: rollbackTo(d),

		Unavailable: bounds.MaxUnavailable,
	}
	if limit := d.Spec.RevisionHistoryLimit; limit != nil {
		n := max(0, int(*limit))
		v.HistoryLimit = &n
	}
	return v
}

var strategies = map[v1alpha1.MachineDeploymentStrategyType]rollout.Strategy{
	v1alpha1.RollingUpdateMachineDeploymentStrategyType: rollout.Rolling,
	v1alpha1.RecreateMachineDeploymentStrategyType:      rollout.Recreate,
	v1alpha1.InPlaceUpdateMachineDeploymentStrategyType: rollout.InPlace,
}

// bounds returns those of the chosen strategy; a block of another strategy does not count. Recreate has none.
func bounds(d *v1alpha1.MachineDeployment) (b v1alpha1.UpdateConfiguration, byHand bool) {
	switch s := d.Spec.Strategy; {
	case s.Type == v1alpha1.RollingUpdateMachineDeploymentStrategyType && s.RollingUpdate != nil:
		return s.RollingUpdate.UpdateConfiguration, false
	case s.Type == v1alpha1.InPlaceUpdateMachineDeploymentStrategyType && s.InPlaceUpdate != nil:
		return s.InPlaceUpdate.UpdateConfiguration, s.InPlaceUpdate.OrchestrationType == v1alpha1.OrchestrationTypeManual
	}
	return b, false
}

// deadline returns spec.progressDeadlineSeconds. A value that is not positive has passed at once; the engine
// gets a second, because zero means no deadline.
func deadline(d *v1alpha1.MachineDeployment) time.Duration {
	if d.Spec.ProgressDeadlineSeconds == nil {
		return 0
	}
	seconds := max(1, *d.Spec.ProgressDeadlineSeconds)
	return time.Duration(seconds) * time.Second
}

func rollbackTo(d *v1alpha1.MachineDeployment) *int64 {
	if d.Spec.RollbackTo == nil {
		return nil
	}
	n := d.Spec.RollbackTo.Revision
	return &n
}

// last reads the status. Progress counts from when the condition was last written, not from its last
// transition.
func last(d *v1alpha1.MachineDeployment) rollout.Last {
	out := rollout.Last{
		Updated: int(d.Status.UpdatedReplicas), Old: int(d.Status.Replicas - d.Status.UpdatedReplicas),
		Ready: int(d.Status.ReadyReplicas), Available: int(d.Status.AvailableReplicas),
	}
	if c := deploymentCondition(&d.Status, v1alpha1.MachineDeploymentProgressing); c != nil {
		out.Progress = rollout.Progress{
			Status: rollout.Truth(c.Status), Reason: rollout.Reason(c.Reason), Message: c.Message, Since: c.LastUpdateTime.Time,
		}
	}
	return out
}

// deploymentFaults returns the errors for which the original does nothing, without a message. The size of a
// bound is no error: surge and unavailable are limited by the number of machines, and if both are zero, one
// machine may be unavailable.
func deploymentFaults(d *v1alpha1.MachineDeployment) (out []lifecycle.Fault) {
	add := func(field, message string) { out = append(out, lifecycle.Fault{Field: field, Message: message}) }
	if d.Spec.Replicas < 0 {
		add("spec.replicas", fmt.Sprintf("must not be negative, is %d", d.Spec.Replicas))
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	switch {
	case err != nil:
		add("spec.selector", err.Error())
	case d.Spec.Selector == nil:
		add("spec.selector", "is required")
	case selector.Empty():
		add("spec.selector", dialect.SelectsEverything)
	case !selector.Matches(labels.Set(d.Spec.Template.Labels)):
		add("spec.template.metadata.labels", "are not matched by spec.selector")
	}
	if d.Spec.Template.Spec.Class.Kind == "" {
		add("spec.template.spec.class.kind", "is required")
	}
	if d.Spec.Template.Spec.Class.Name == "" {
		add("spec.template.spec.class.name", "is required")
	}
	return append(out, strategyFaults(&d.Spec.Strategy)...)
}

// strategyFaults checks the block of the chosen strategy only.
func strategyFaults(s *v1alpha1.MachineDeploymentStrategy) []lifecycle.Fault {
	one := func(field, message string) []lifecycle.Fault {
		return []lifecycle.Fault{{Field: field, Message: message}}
	}
	switch s.Type {
	case v1alpha1.RecreateMachineDeploymentStrategyType:
		return nil
	case v1alpha1.RollingUpdateMachineDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return one("spec.strategy.rollingUpdate", "is required by the strategy RollingUpdate")
		}
		return boundFaults("spec.strategy.rollingUpdate", s.RollingUpdate.UpdateConfiguration)
	case v1alpha1.InPlaceUpdateMachineDeploymentStrategyType:
		if s.InPlaceUpdate == nil {
			return one("spec.strategy.inPlaceUpdate", "is required by the strategy InPlaceUpdate")
		}
		faults := boundFaults("spec.strategy.inPlaceUpdate", s.InPlaceUpdate.UpdateConfiguration)
		switch t := s.InPlaceUpdate.OrchestrationType; t {
		case v1alpha1.OrchestrationTypeAuto, v1alpha1.OrchestrationTypeManual:
			return faults
		default:
			return append(faults, one("spec.strategy.inPlaceUpdate.orchestrationType", fmt.Sprintf("must be Auto or Manual, is %q", t))...)
		}
	}
	return one("spec.strategy.type", fmt.Sprintf("must be RollingUpdate, Recreate or InPlaceUpdate, is %q", s.Type))
}

func boundFaults(block string, b v1alpha1.UpdateConfiguration) []lifecycle.Fault {
	check := func(field string, bound *intstr.IntOrString) []lifecycle.Fault {
		return dialect.CheckBound(block+"."+field, bound, true)
	}
	return append(check("maxSurge", b.MaxSurge), check("maxUnavailable", b.MaxUnavailable)...)
}

// policy: a deployment deletes its sets with it, machines take room until they are deleted, and nodes of old
// sets are avoided. minReadySeconds is not used.
func (l Deployments) policy(d *v1alpha1.MachineDeployment) rollout.Policy {
	return rollout.Policy{
		LeavingTakesRoom:    !dialect.On(d, dialect.OverlapAnnotation),
		StatusCountsLeaving: true, Cascade: true, AvoidOld: true,
		StayDuringRollout: l.StayDuringRollout, Nodeless: l.Nodeless,
	}
}

// deploymentSelector matches nothing if d's selector is invalid.
func deploymentSelector(d *v1alpha1.MachineDeployment) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || selector.Empty() {
		return labels.Nothing()
	}
	return selector
}

// Adopts: every set that the selector matches belongs to d, as long as neither is under deletion.
func (deployedSets) Adopts(d *v1alpha1.MachineDeployment, s *v1alpha1.MachineSet) bool {
	return d.DeletionTimestamp == nil && s.DeletionTimestamp == nil
}
