package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// going returns "has been in deletion for 3h12m", and how long the current step has lasted, if that was
// recorded and is less: "has been in deletion for 3h12m, in its drain for 2h5m".
func (q *input) going() string {
	out := "has been in deletion for " + span(q.now.Sub(q.View.Deleted))
	if len(q.View.Deletion.Started) == 0 {
		return out
	}
	last := q.View.Deletion.Started[len(q.View.Deletion.Started)-1]
	if span(q.now.Sub(last.At)) == span(q.now.Sub(q.View.Deleted)) {
		return out
	}
	return out + ", " + steps[last.Step] + lasting(q.now, last.At)
}

var steps = map[lifecycle.DeletionStep]string{
	lifecycle.DeletionPreDrainHook: "held by a hook", lifecycle.DeletionBudget: "held", lifecycle.DeletionDrain: "in its drain", lifecycle.DeletionVolumeDetach: "with no pods left",
	lifecycle.DeletionPreTerminateHook: "held by a hook", lifecycle.DeletionInstance: "in the removal of its instance", lifecycle.DeletionNode: "in the removal of its node",
}

// leaving explains a decision about a machine under deletion. It relies on recorded steps: a deletion
// timestamp alone does not mean that a controller has begun.
func (q *input) leaving(d lifecycle.Decision) finding {
	f := finding{key: variant(d.Reason, "Deleting"), chain: q.latest()}
	switch d.Reason {
	case lifecycle.ReasonReleased:
		f.chain = nil
		if len(q.Obstacles.Foreign) > 0 {
			f.key = reasonForeign
			f.chain = []Cause{{Source: "metadata.finalizers", Reason: reasonForeign, Message: "set by other programs: " + strings.Join(q.Obstacles.Foreign, ", ")}}
		}
	case lifecycle.ReasonDrainBlockedHook:
		return hooked(d.Reason, q.View.Deletion.PreDrain)
	case lifecycle.ReasonTerminateHook:
		return hooked(d.Reason, q.View.Deletion.PreTerminate)
	case lifecycle.ReasonDisruptionBudget:
		f.key = string(d.Reason)
		if slices.ContainsFunc(f.chain, func(c Cause) bool { return disruption.NamesStop(c.Message) }) {
			f.key = variant(d.Reason, "Stop")
		}
	case lifecycle.ReasonDraining:
		return q.draining()
	case lifecycle.ReasonTerminateFailed:
		f.key = variant(d.Reason, string(provider.KindOf(d.Err)))
		if len(q.Made.Absent) > 0 {
			f.key = variant(d.Reason, "NoSecret")
		}
	case lifecycle.ReasonDeleting:
		switch {
		case !q.PodsLooked && drainLasts(q.View, q.now) >= longDrain: // the pods of the fleet's machines are not read
			f.key = variant(lifecycle.ReasonDraining, "Long")
		case d.Step == lifecycle.Drain && q.said(drained).Status == string(corev1.ConditionFalse):
			f.key = variant(lifecycle.ReasonDraining, "Unseen")
		case q.View.Stage == lifecycle.StageDeleting && len(q.latest()) == 0:
		case q.View.Stage == lifecycle.StageDeleting:
			f.reason = string(lifecycle.ReasonTerminating)
		default: // its status is about its life
			f.key, f.chain = variant(d.Reason, "NotBegun"), nil
			if q.now.Sub(q.View.Deleted) >= unseen {
				f.key = variant(d.Reason, "NotSeen")
			}
		}
	}
	if said := q.contradicted(); said != nil && d.Waits() && d.Reason != lifecycle.ReasonReleased {
		f.key, f.chain = variant(lifecycle.ReasonContradicted, "Deleting"), said
	}
	return f
}

// longDrain is after how long a drain is reported although the pods in its way are not known.
const longDrain = 5 * time.Minute

// drainLasts returns for how long the drain has lasted; zero if the current step is another one.
func drainLasts(m lifecycle.Machine, now time.Time) time.Duration {
	n := len(m.Deletion.Started)
	if n == 0 || m.Deletion.Started[n-1].Step != lifecycle.DeletionDrain {
		return 0
	}
	return now.Sub(m.Deletion.Started[n-1].At)
}

func hooked(reason lifecycle.Reason, hooks []lifecycle.Hook) finding {
	f := finding{key: string(reason), fill: []string{"hook", hooks[0].Name, "hook owner", hooks[0].Owner}}
	for _, h := range hooks {
		f.chain = append(f.chain, Cause{Source: "spec.lifecycleHooks", Reason: string(reason), Message: "hook " + h.Name + " is owned by " + h.Owner})
	}
	return f
}

// drained is the statement that says whether the drain is over.
const drained = "condition Drained"

// draining explains what is still on the node.
func (q *input) draining() finding {
	left := q.podsLeft()
	if len(left) == 0 {
		return q.volumes()
	}
	if blocked := q.blockers(left); len(blocked) > 0 {
		b := blocked[0]
		f := finding{key: b.key(q.Peers), fill: []string{"pod", b.pod, "budget", b.budget}}
		if sick := b.sick(q.Peers); len(sick) > 0 {
			f = f.with("sick", sick[0].Namespace+"/"+sick[0].Name)
		}
		for _, b := range blocked[:min(len(blocked), mostCauses)] {
			f.chain = append(f.chain, b.causes(q.Peers)...)
		}
		return f
	}
	f := finding{key: string(lifecycle.ReasonDraining), fill: []string{"pods", plural(len(left), "pod")}}
	if s := q.said(drained); s.Status == string(corev1.ConditionFalse) {
		f.chain = quote(s)
	}
	f.chain = append(f.chain, q.endingPods(left)...)
	if len(f.chain) == 0 {
		f.chain = q.latest()
	}
	return f
}

// mostCauses is how many pods an answer names.
const mostCauses = 5

// podsLeft returns the pods that a drain has to evict.
func (q *input) podsLeft() (out []corev1.Pod) {
	going := map[string]bool{}
	for _, t := range slices.Concat(q.left.Evict, q.left.Delete) {
		going[t.Pod.String()] = true
	}
	for _, b := range slices.Concat(q.left.Waiting, q.left.Blocked) {
		going[b.Pod.String()] = true
	}
	for _, p := range q.Pods {
		if going[p.Namespace+"/"+p.Name] {
			out = append(out, p)
		}
	}
	return out
}

// blocker is a pod whose eviction a budget refuses.
type blocker struct {
	pod, budget string
	several     bool
	is          *policyv1.PodDisruptionBudget
	pick        labels.Selector
}

// blockers returns the pods whose eviction a budget refuses now.
func (q *input) blockers(left []corev1.Pod) (out []blocker) {
	for _, p := range left {
		covering := drain.Covering(p, q.Budgets)
		several := len(covering) > 1
		i := slices.IndexFunc(covering, func(b *policyv1.PodDisruptionBudget) bool { return several || drain.Room(b) == 0 })
		if p.DeletionTimestamp != nil || i < 0 {
			continue
		}
		b := covering[i]
		pick, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // it covers nothing
		}
		out = append(out, blocker{p.Namespace + "/" + p.Name, b.Namespace + "/" + b.Name, several, b, pick})
	}
	return out
}

// healthyOf returns ": 3 of 3 pods are healthy, and at least 3 must be"; empty for a budget that counts no
// pods, because its numbers explain nothing.
func healthyOf(s policyv1.PodDisruptionBudgetStatus) string {
	if s.ExpectedPods == 0 {
		return ""
	}
	return fmt.Sprintf(": %s healthy, and at least %d must be", share(int(s.CurrentHealthy), int(s.ExpectedPods), "pod"), s.DesiredHealthy)
}

// causes returns the numbers of the budget, and its unhealthy pods.
func (b blocker) causes(peers []corev1.Pod) []Cause {
	s := b.is.Status
	out := []Cause{{
		Source: "poddisruptionbudget " + b.budget, Reason: string(drain.ReasonBudget),
		Message: fmt.Sprintf("it covers pod %s and allows %d disruptions%s%s", b.pod, s.DisruptionsAllowed, healthyOf(s), b.asks()),
	}}
	if c := b.broken(); c != nil {
		out[0] = Cause{
			Source: out[0].Source, Reason: c.Reason, Since: c.LastTransitionTime.Time,
			Message: fmt.Sprintf("it covers pod %s, and how many disruptions it allows cannot be computed%s%s", b.pod, b.asks(), colon(c.Message)),
		}
	}
	sick := b.sick(peers)
	for _, p := range sick[:min(len(sick), mostCauses)] {
		out = append(out, Cause{Source: "pod " + p.Namespace + "/" + p.Name, Reason: "NotReady", Message: "it is not Ready" + colon(unreadyBecause(p))})
	}
	return out
}

// sick returns the unhealthy pods of the budget.
func (b blocker) sick(peers []corev1.Pod) (out []corev1.Pod) {
	for _, p := range peers {
		if p.Namespace == b.is.Namespace && b.pick.Matches(labels.Set(p.Labels)) && !podReady(p) {
			out = append(out, p)
		}
	}
	return out
}

// key returns the key of the reason why the budget refuses.
func (b blocker) key(peers []corev1.Pod) string {
	s, of := b.is.Status, ""
	switch {
	case b.several:
		return string(drain.ReasonBudgets)
	case b.broken() != nil:
		of = "Broken"
	case b.never():
		of = "Never"
	case len(b.sick(peers)) > 0:
		of = "Sick"
	case s.CurrentHealthy < s.DesiredHealthy:
		of = "Few"
	case s.ExpectedPods > 0 && s.DesiredHealthy >= s.ExpectedPods:
		of = "Never"
	}
	return variant(drain.ReasonBudget, of)
}

// broken returns the condition in which the disruption controller says that it cannot compute the budget: for
// pods without a controller it does not know the expected number.
func (b blocker) broken() *metav1.Condition {
	i := slices.IndexFunc(b.is.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason
	})
	if i < 0 {
		return nil
	}
	return &b.is.Status.Conditions[i]
}

// never reports whether the budget allows no disruption even if all pods are healthy.
func (b blocker) never() bool {
	if most := b.is.Spec.MaxUnavailable; most != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(most, 100, true)
		return err == nil && n == 0
	}
	least := b.is.Spec.MinAvailable
	return least != nil && least.Type == intstr.String && least.StrVal == "100%"
}

// asks returns " (spec.maxUnavailable is 0)" for a budget that never allows a disruption.
func (b blocker) asks() string {
	switch {
	case b.is.Spec.MaxUnavailable != nil:
		return " (spec.maxUnavailable is " + b.is.Spec.MaxUnavailable.String() + ")"
	case b.is.Spec.MinAvailable != nil && b.never():
		return " (spec.minAvailable is " + b.is.Spec.MinAvailable.String() + ")"
	}
	return ""
}

func podReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func unreadyBecause(p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			return c.Name + ": " + w.Reason
		}
	}
	return string(p.Status.Phase)
}

// endingPods returns pods that terminate slowly.
func (q *input) endingPods(left []corev1.Pod) (out []Cause) {
	for _, p := range left[:min(len(left), mostCauses)] {
		if at := p.DeletionTimestamp; at != nil {
			out = append(out, Cause{Source: "pod " + p.Namespace + "/" + p.Name, Reason: string(drain.ReasonTerminating), Since: at.Time, Message: "it is terminating"})
		}
	}
	return out
}

// detaching reports whether the drain waits for volumes of pods that have left.
func (q *input) detaching() bool {
	return q.Policy.Drain.Policy.VolumesOneByOne && !q.View.Deletion.Drained && len(q.Attachments) > 0
}

// volumes explains the wait for those volumes.
func (q *input) volumes() finding {
	f := finding{key: string(drain.ReasonStillAttached), fill: []string{"volumes", are(len(q.Attachments), "volume")}}
	for _, a := range q.Attachments[:min(len(q.Attachments), mostCauses)] {
		volume := "an inline volume"
		if a.Spec.Source.PersistentVolumeName != nil {
			volume = "volume " + *a.Spec.Source.PersistentVolumeName
		}
		c := Cause{Source: "volumeattachment " + a.Name, Reason: f.key, Message: volume + " of " + a.Spec.Attacher + " is attached"}
		if e := a.Status.DetachError; e != nil {
			c.Message, c.Since = volume+" cannot be detached"+colon(e.Message), e.Time.Time
		}
		f.chain = append(f.chain, c)
	}
	if slices.ContainsFunc(q.Attachments, func(a storagev1.VolumeAttachment) bool { return a.Status.DetachError != nil }) {
		f.key = variant(drain.ReasonStillAttached, "Failing")
	}
	f.chain = append(f.chain, q.latest()...)
	return f
}

func are(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return plural(n, one) + " are"
}
