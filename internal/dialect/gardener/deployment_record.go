package gardener

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// Record writes counters and conditions into the status of d. Counters that the pass did not compute, because
// d is invalid, stay as they are.
func (Deployments) Record(d *v1alpha1.MachineDeployment, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	st := &d.Status
	st.ObservedGeneration = d.Generation
	if o.Collided {
		n := int32(1)
		if st.CollisionCount != nil {
			n += *st.CollisionCount
		}
		st.CollisionCount = &n
	}
	if !o.Plan.Status.Faulty {
		recordCounters(d, o)
		recordAvailable(st, o)
	}
	recordProgress(st, o)
	if !o.Plan.Status.Faulty {
		recordSetFailure(st, o)
		mirrorFrozen(st, o)
	}
	recordVerdict(st, o)
}

// recordVerdict summarizes for clients that know only Reconciling and Stalled, of which at most one exists.
// If the deployment is healthy neither exists: then it has Available and Progressing, as with the original,
// and no Ready. The summary follows from the rest of the status, and changes only with that.
func recordVerdict(st *v1alpha1.MachineDeploymentStatus, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	var p v1alpha1.MachineDeploymentCondition
	if told := deploymentCondition(st, v1alpha1.MachineDeploymentProgressing); told != nil {
		p = *told
	}
	c := v1alpha1.MachineDeploymentCondition{Type: v1alpha1.MachineDeploymentReconciling, Status: v1alpha1.ConditionTrue, Reason: p.Reason, Message: p.Message}
	other, reason := v1alpha1.MachineDeploymentStalled, rollout.Reason(p.Reason)
	switch is := o.Plan.Status; {
	case o.Deployment.Deleting, is.Complete && !is.Faulty && p.Status != v1alpha1.ConditionFalse:
		dropCondition(st, c.Type)
		dropCondition(st, other)
		return
	case is.Faulty, reason == rollout.Stopped, reason == rollout.DeadlineExceeded:
		c.Type, other = other, c.Type
	case p.Reason == "", reason == rollout.SetAvailable:
		c.Reason = v1alpha1.ReasonMinimumReplicasUnavailable
		c.Message = fmt.Sprintf("%d of %d machines are available, %d are up to date", is.Available, o.Deployment.Replicas, is.Updated)
	}
	dropCondition(st, other)
	putCondition(st, c, o.Now)
}

func recordCounters(d *v1alpha1.MachineDeployment, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	st, is := &d.Status, o.Plan.Status
	st.Replicas = int32(is.Replicas)
	st.UpdatedReplicas = int32(is.Updated)
	st.ReadyReplicas = int32(is.Ready)
	st.AvailableReplicas = int32(is.Available)
	st.PreservedFailedReplicas = int32(is.Kept)
	st.UnavailableReplicas = int32(is.Unavailable)
	st.LabelSelector = deploymentSelector(d).String()
	st.FailedMachines = failedOfAll(o.Sets)
}

// failedOfAll returns the failed machines of all sets, by name; nil if none exist.
func failedOfAll(sets []*v1alpha1.MachineSet) (out []*v1alpha1.MachineSummary) {
	for _, s := range sets {
		if s.Status.FailedMachines == nil {
			continue
		}
		for _, m := range *s.Status.FailedMachines {
			out = append(out, &m)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.MachineSummary) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func recordAvailable(st *v1alpha1.MachineDeploymentStatus, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	c := v1alpha1.MachineDeploymentCondition{
		Type: v1alpha1.MachineDeploymentAvailable, Status: v1alpha1.ConditionTrue, Reason: v1alpha1.ReasonMinimumReplicasAvailable,
		Message: fmt.Sprintf("available machines: at least the required %d", o.Plan.Status.Floor),
	}
	if !o.Plan.Status.Enough {
		c.Status, c.Reason = v1alpha1.ConditionFalse, v1alpha1.ReasonMinimumReplicasUnavailable
		c.Message = fmt.Sprintf("available machines: fewer than the required %d", o.Plan.Status.Floor)
	}
	putCondition(st, c, o.Now)
}

// recordProgress writes the progress of the rollout. Progress changes only the time of the condition's last
// update, so that the engine's time counts; a continuing problem keeps the time at which it began.
func recordProgress(st *v1alpha1.MachineDeploymentStatus, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	is := o.Plan.Status.Progress
	trouble := o.Plan.Status.Faulty
	if o.CreateErr != nil && !o.Collided {
		is, trouble = rollout.Progress{Status: rollout.False, Reason: rollout.SetCreateError, Message: o.CreateErr.Error()}, true
	}
	if is.Status == "" {
		return
	}
	c := v1alpha1.MachineDeploymentCondition{
		Type: v1alpha1.MachineDeploymentProgressing, Status: v1alpha1.ConditionStatus(is.Status), Reason: string(is.Reason), Message: is.Message,
	}
	if !trouble {
		c.LastUpdateTime = second(is.Since)
	}
	putCondition(st, c, o.Now)
}

func recordSetFailure(st *v1alpha1.MachineDeploymentStatus, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	failure := o.Plan.Status.Failure
	if failure == nil {
		dropCondition(st, v1alpha1.MachineDeploymentReplicaFailure)
		return
	}
	putCondition(st, v1alpha1.MachineDeploymentCondition{
		Type: v1alpha1.MachineDeploymentReplicaFailure, Status: v1alpha1.ConditionTrue, Reason: failure.Reason, Message: failure.Message,
	}, o.Now)
}

// mirrorFrozen mirrors the sets. The reason is that of the set's condition if it exists, otherwise that d
// follows its sets.
func mirrorFrozen(st *v1alpha1.MachineDeploymentStatus, o dialect.DeploymentOutcome[*v1alpha1.MachineSet]) {
	sets := slices.SortedFunc(slices.Values(o.Sets), func(a, b *v1alpha1.MachineSet) int { return cmp.Compare(a.Name, b.Name) })
	i := slices.IndexFunc(sets, frozen)
	if i < 0 {
		dropCondition(st, v1alpha1.MachineDeploymentFrozen)
		return
	}
	c := v1alpha1.MachineDeploymentCondition{
		Type: v1alpha1.MachineDeploymentFrozen, Status: v1alpha1.ConditionTrue, Reason: v1alpha1.ReasonMachineDeploymentStateSync,
		Message: fmt.Sprintf("set %s creates no machines because far too many exist", sets[i].Name),
	}
	if of := setCondition(sets[i], v1alpha1.MachineSetFrozen); of != nil && of.Status == v1alpha1.ConditionTrue {
		c.Reason = cmp.Or(of.Reason, v1alpha1.ReasonMachineDeploymentStateSync)
	}
	putCondition(st, c, o.Now)
}

func deploymentCondition(st *v1alpha1.MachineDeploymentStatus, t v1alpha1.MachineDeploymentConditionType) *v1alpha1.MachineDeploymentCondition {
	i := slices.IndexFunc(st.Conditions, func(c v1alpha1.MachineDeploymentCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &st.Conditions[i]
}

// putCondition writes c unless it equals the existing one and has no new time. The transition time changes
// only with the condition's status.
func putCondition(st *v1alpha1.MachineDeploymentStatus, c v1alpha1.MachineDeploymentCondition, now time.Time) {
	own := !c.LastUpdateTime.IsZero()
	if !own {
		c.LastUpdateTime = second(now)
	}
	c.LastTransitionTime = second(now)
	was := deploymentCondition(st, c.Type)
	if was == nil {
		st.Conditions = append(st.Conditions, c)
		return
	}
	if was.Status == c.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	same := was.Status == c.Status && was.Reason == c.Reason && was.Message == c.Message
	if same && (!own || was.LastUpdateTime.Equal(&c.LastUpdateTime)) {
		return
	}
	*was = c
}

func dropCondition(st *v1alpha1.MachineDeploymentStatus, t v1alpha1.MachineDeploymentConditionType) {
	st.Conditions = slices.DeleteFunc(st.Conditions, func(c v1alpha1.MachineDeploymentCondition) bool { return c.Type == t })
}

// second returns t in the precision of stored times.
func second(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }
