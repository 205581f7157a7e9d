package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/millwright"
)

// Obstacle is something that can be known of a drain before it begins.
type Obstacle struct {
	Pod types.NamespacedName
	// Budget is the disruption budget in the way; empty when none is.
	Budget types.NamespacedName
	// Reason is [ReasonBudgetNever], [ReasonBudgets], [ReasonLocalData],
	// [ReasonLocalVolume] or [ReasonOrder].
	Reason Reason
	// Endless: the drain cannot finish unless somebody changes something, or it
	// is forced. Else it can, at the price that Message names.
	Endless bool
	// Message is one sentence without a full stop.
	Message string
}

// What can be foreseen besides budgets.
const (
	// ReasonLocalData: nobody makes the pod again, and its data are on the node.
	ReasonLocalData Reason = "LocalData"
	// ReasonLocalVolume: the pod's volume exists on this node only.
	ReasonLocalVolume Reason = "LocalVolume"
	// ReasonOrder: the pod's [OrderAnnotation] cannot be read.
	ReasonOrder Reason = "DrainOrder"
)

// Foresee says what stands in the way of a drain that has not begun, so that
// people can be warned before the node is cordoned: budgets that will never
// allow an eviction, as far as can be told from what they say and from their
// state with all pods healthy; and what a successful drain would lose. A budget
// that merely has no room at the moment is no obstacle. What the policy overrides
// is none either.
//
// Facts need Pods, the Budgets of their namespaces, and Volumes if those are to
// be judged.
func Foresee(f Facts, p Policy) (out []Obstacle) {
	local := map[types.NamespacedName]Volume{}
	for _, v := range f.Volumes {
		if v.Local {
			local[v.Claim] = v
		}
	}
	for _, q := range questions(time.Time{}, f, Memory{}, p) {
		if q.stays() != "" || q.pod.DeletionTimestamp != nil {
			continue
		}
		for _, find := range []func(map[types.NamespacedName]Volume) *Obstacle{q.hardBudgets, q.localData, q.localVolume, q.badOrder} {
			if o := find(local); o != nil {
				out = append(out, *o)
			}
		}
	}
	return out
}

// hardBudgets: only pods that are or may become ready are asked about.
func (q input) hardBudgets(map[types.NamespacedName]Volume) *Obstacle {
	if q.policy.Force || q.finished() || q.pod.Status.Phase == corev1.PodPending {
		return nil
	}
	covering := q.covering()
	o := Obstacle{Pod: q.name(), Endless: true}
	switch {
	case len(covering) > 1:
		o.Reason = ReasonBudgets
		o.Message = fmt.Sprintf("several disruption budgets cover it, %s, and the API server evicts no such pod", names(covering))
	case len(covering) == 1 && neverAllows(covering[0]) && !sickMayGo(covering[0], q.pod):
		o.Reason = ReasonBudgetNever
		o.Message = "disruption budget " + names(covering) + " " + never(says(covering[0]))
	default:
		return nil
	}
	o.Budget = nameOf(covering[0])
	switch n := q.policy.MaxEvictAttempts; {
	case q.policy.hurried() && q.policy.ForceLate:
		o.Endless = false
		o.Message += "; it is overruled shortly before the instance is taken away"
	case !q.policy.hurried() && n > 0:
		o.Endless = false
		o.Message += fmt.Sprintf("; it is overruled after %d attempts", n)
	}
	return &o
}

// sickMayGo reports whether the budget lets go of the pod because it is not
// ready.
func sickMayGo(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	policy := b.Spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == policyv1.AlwaysAllow && !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// localData: only pods without a controller are lost for good; others are made
// again elsewhere, and chose a volume that begins empty.
func (q input) localData(map[types.NamespacedName]Volume) *Obstacle {
	if metav1.GetControllerOf(q.pod) != nil || q.finished() {
		return nil
	}
	i := slices.IndexFunc(q.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil || v.HostPath != nil })
	if i < 0 {
		return nil
	}
	return &Obstacle{
		Pod: q.name(), Reason: ReasonLocalData,
		Message: fmt.Sprintf("no controller makes it again, and the data of its volume %s are lost with the node", q.pod.Spec.Volumes[i].Name),
	}
}

func (q input) localVolume(local map[types.NamespacedName]Volume) *Obstacle {
	for _, c := range Claims(q.pod) {
		if v, ok := local[c]; ok {
			return &Obstacle{
				Pod: q.name(), Reason: ReasonLocalVolume,
				Message: fmt.Sprintf("its volume %s exists on this node only, so that it cannot run elsewhere", v.Name),
			}
		}
	}
	return nil
}

func (q input) badOrder(map[types.NamespacedName]Volume) *Obstacle {
	r := millwright.Read(q.pod.Annotations)
	_, _ = r.Integer(OrderAnnotation)
	text, bad := r.Misread(OrderAnnotation)
	if !bad {
		return nil
	}
	return &Obstacle{
		Pod: q.name(), Reason: ReasonOrder,
		Message: fmt.Sprintf("annotation %s is %q, which is no integer; 0 is taken instead", OrderAnnotation, text),
	}
}

func names(budgets []*policyv1.PodDisruptionBudget) string {
	out := make([]string, len(budgets))
	for i, b := range budgets {
		out[i] = b.Namespace + "/" + b.Name
	}
	return strings.Join(out, ", ")
}

// relevant are the obstacles about pods that have still to be asked, or were and
// have not left; what blocks them says no more of it than the obstacle does.
func relevant(obstacles []Obstacle, d Decision) (out []Obstacle) {
	open := map[types.NamespacedName]bool{}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		open[t.Pod] = true
	}
	for _, b := range d.Waiting {
		open[b.Pod] = open[b.Pod] || b.Reason == ReasonTurn || b.Reason == ReasonLead
	}
	for _, o := range obstacles {
		if open[o.Pod] {
			out = append(out, o)
		}
	}
	return out
}
