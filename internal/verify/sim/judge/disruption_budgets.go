package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Disruptions judges the disruption budgets.
type Disruptions struct{ *Judge }

// windowMargin is the time around the begin and the end of a window in which a limit may count or not: clocks differ.
const windowMargin = time.Minute

// governs reports whether the budget has selected the machine all the time since the machine's deletion.
func (j Disruptions) governs(b *v1alpha1.MachineDisruptionBudget, m machine) bool {
	since := deletedSince(m)
	if since.IsZero() || !b.CreationTimestamp.Time.Before(since.Truncate(time.Second)) {
		return false
	}
	for _, budget := range j.statesSince(b.UID, since) {
		selector, err := metav1.LabelSelectorAsSelector(&budget.(*v1alpha1.MachineDisruptionBudget).Spec.Selector)
		for _, o := range j.statesSince(m.GetUID(), since) {
			if err != nil || !selector.Matches(labels.Set(o.GetLabels())) {
				return false
			}
		}
	}
	return true
}

// statesSince are the states of an existing object at the time, and after each change since then.
func (j Disruptions) statesSince(uid types.UID, since time.Time) (out []client.Object) {
	for _, c := range j.log[uid] {
		if c.now == nil {
			continue
		}
		if c.at.Before(since) {
			out = out[:0]
		}
		out = append(out, c.now)
	}
	return out
}

// NodeClosed judges that the machine controller cordons a node.
func (j Disruptions) NodeClosed(p *Pass, old, now *corev1.Node) {
	if now == nil || old.Spec.Unschedulable || !now.Spec.Unschedulable {
		return
	}
	if m, there := j.machineOn(now.Name); there {
		j.disrupted(p, m, now, "node "+now.Name+" was cordoned")
	}
}

// disrupted judges that the drain of a deleted machine continues. A drain that began before a budget selected the machine needs no permit of
// it. Nor does the drain of a node that joined after the deletion, whose instance may already be terminating.
func (j Disruptions) disrupted(p *Pass, m machine, n *corev1.Node, what string) {
	if n == nil || !n.CreationTimestamp.Time.Before(deletedSince(m).Truncate(time.Second)) || deletedSince(m).IsZero() || j.ever(m.GetUID(), p, atBegin, func(m machine) bool { return m.hurried }) {
		return
	}
	for _, o := range j.All(&v1alpha1.MachineDisruptionBudget{}) {
		b := o.(*v1alpha1.MachineDisruptionBudget)
		if j.governs(b, m) && !permits(b, m.GetUID()) {
			j.Broken(BudgetAsked, "%s, and disruption budget %s has no permit for machine %s", what, b.Name, m.GetName())
		}
	}
}

func permits(b *v1alpha1.MachineDisruptionBudget, uid types.UID) bool {
	return slices.ContainsFunc(b.Status.Disruptions, func(d v1alpha1.Disruption) bool { return d.UID == uid })
}

// PermitsWritten judges that the machine controller writes permits into a budget.
func (j Disruptions) PermitsWritten(p *Pass, old, now *v1alpha1.MachineDisruptionBudget) {
	for _, d := range now.Status.Disruptions {
		if permits(old, d.UID) {
			continue
		}
		m, there := find(j.machines(), d.UID)
		if n := j.node(m.node); !there || n == nil || !n.CreationTimestamp.Time.Before(deletedSince(m).Truncate(time.Second)) || !j.governs(old, m) || j.ever(d.UID, p, atBegin, func(m machine) bool { return m.hurried }) {
			continue
		}
		j.judgePermit(old, d)
	}
	for _, d := range old.Status.Disruptions {
		if m, there := find(j.machines(), d.UID); there && !permits(now, d.UID) && j.held(m) && !deletedSince(m).IsZero() && j.permitted(old, m) {
			j.Broken(BudgetPermits, "disruption budget %s lost the permit of machine %s, which is being deleted", old.Name, d.Name)
		}
	}
}

// permitted reports whether all budgets that govern m permit its disruption, and old does: a machine gives a permit back if another budget
// refuses.
func (j Disruptions) permitted(old *v1alpha1.MachineDisruptionBudget, m machine) bool {
	for _, o := range j.All(old) {
		b := o.(*v1alpha1.MachineDisruptionBudget)
		if b.UID != old.UID && !permits(b, m.GetUID()) {
			return false
		}
	}
	return j.governs(old, m)
}

// judgePermit judges the permit of a deletion that has not begun.
func (j Disruptions) judgePermit(b *v1alpha1.MachineDisruptionBudget, d v1alpha1.Disruption) {
	if b.Spec.Paused && d.Reason != v1alpha1.ReasonInterruption {
		j.Broken(BudgetPermits, "paused disruption budget %s permits the disruption of machine %s", b.Name, d.Name)
	}
	for _, l := range b.Spec.Budgets {
		if n := int(l.Nodes.IntVal); limits(l, d.Reason) && j.within(l) && len(b.Status.Disruptions) >= n {
			j.Broken(BudgetPermits, "disruption budget %s permits the disruption of machine %s (%s) in addition to %d others, and its limit is %d", b.Name, d.Name, d.Reason, len(b.Status.Disruptions), n)
		}
	}
}

// limits reports whether the limit is about the cause: an interruption only if it is named, and an unknown cause as any other.
func limits(l v1alpha1.Budget, r v1alpha1.DisruptionReason) bool {
	if len(l.Reasons) == 0 {
		return r != v1alpha1.ReasonInterruption
	}
	return slices.Contains(l.Reasons, r)
}

// within reports whether the limit surely applies now: always, or for the first minutes of each hour.
func (j Disruptions) within(l v1alpha1.Budget) bool {
	if l.Duration == nil {
		return true
	}
	into := j.Now().Sub(j.Now().Truncate(time.Hour))
	return into > windowMargin && into < l.Duration.Duration-windowMargin
}
