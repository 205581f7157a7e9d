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

// Obstacle is an obstacle of a drain that is known before the drain begins.
type Obstacle struct {
	Pod types.NamespacedName
	// Budget is the disruption budget in the way; empty if none exists.
	Budget types.NamespacedName
	// Reason is [ReasonBudgetNever], [ReasonBudgets], [ReasonLocalData],
	// [ReasonLocalVolume] or [ReasonOrder].
	Reason Reason
	// Endless: the drain finishes only if a user changes something, or it is forced. Otherwise it can finish,
	// at the cost that Message names.
	Endless bool
	// Message is one sentence without a full stop.
	Message string
}

// Obstacles other than budgets.
const (
	// ReasonLocalData: no controller creates the pod again, and its data are on the node.
	ReasonLocalData Reason = "LocalData"
	// ReasonLocalVolume: the pod's volume exists on this node only.
	ReasonLocalVolume Reason = "LocalVolume"
	// ReasonOrder: the pod's [OrderAnnotation] is invalid.
	ReasonOrder Reason = "DrainOrder"
)

// Foresee returns the obstacles of a drain that has not begun, so that users can be warned before the node is
// cordoned. Obstacles are budgets that will never allow an eviction, by their spec and by their state with
// all pods healthy, and data that a successful drain would lose. A budget that only has no room at the moment
// is no obstacle. Neither is an obstacle that the policy overrides.
//
// Facts need Pods, the Budgets of their namespaces, and Volumes if volumes are to be judged.
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

// hardBudgets concern only pods that are or may become ready.
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
		o.Message += "; it is overruled shortly before the instance is terminated"
	case !q.policy.hurried() && n > 0:
		o.Endless = false
		o.Message += fmt.Sprintf("; it is overruled after %d attempts", n)
	}
	return &o
}

// sickMayGo reports whether the budget allows the eviction of the pod because the pod is not ready.
func sickMayGo(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	policy := b.Spec.UnhealthyPodEvictionPolicy
	return policy != nil && *policy == policyv1.AlwaysAllow && !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// localData concerns only pods without a controller. A controller creates other pods again, and their authors
// chose a volume that starts empty.
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
		Message: fmt.Sprintf("no controller creates it again, and the data of its volume %s are lost with the node", q.pod.Spec.Volumes[i].Name),
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
		Message: fmt.Sprintf("annotation %s is %q, which is not an integer; 0 is used instead", OrderAnnotation, text),
	}
}

func names(budgets []*policyv1.PodDisruptionBudget) string {
	out := make([]string, len(budgets))
	for i, b := range budgets {
		out[i] = b.Namespace + "/" + b.Name
	}
	return strings.Join(out, ", ")
}

// relevant returns the obstacles of pods that have not been evicted yet, or were and have not left. The entry
// of a blocked pod already says the same as its obstacle.
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
