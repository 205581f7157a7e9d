package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/internal/drain"
	"github.com/millwright-dev/millwright/internal/lifecycle"
)

// removal explains a machine on its way out, in the order of that way.
var removal = []check{
	foreignFinalizer,
	preDrainHook,
	draining,
	volumesAttached,
	preTerminateHook,
	removalFails,
}

// going is "has been in deletion for 3h12m".
func (q *question) going() string {
	return "has been in deletion for " + span(q.now.Sub(q.View.Deleted))
}

// goingSince is the same, and for how long the step has gone on where that was
// recorded and is less: "has been in deletion for 3h12m, in its drain for 2h5m".
func (q *question) goingSince(step lifecycle.DeletionStep, in string) string {
	since := q.View.Since(step)
	if since.IsZero() || span(q.now.Sub(since)) == span(q.now.Sub(q.View.Deleted)) {
		return q.going()
	}
	return q.going() + ", " + in + lasting(q.now, since)
}

// inInstance is what a machine is in whose instance is to go.
const inInstance = "in the removal of its instance"

// leaving is a machine on its way out with nothing in the way. It says what was
// recorded: that the machine is to go does not mean that anybody has begun.
func (q *question) leaving() finding {
	f := finding{state: Deleting, reason: string(lifecycle.ReasonTerminating), next: "wait", text: q.goingSince(lifecycle.DeletionInstance, inInstance)}
	asked := !q.View.Since(lifecycle.DeletionInstance).IsZero()
	s := q.latest()
	switch {
	case !q.View.Held:
		f.reason, f.text = string(lifecycle.ReasonReleased), q.going()+": all is done, and the object goes at any moment"
		return f
	case asked:
		f.text += ": the infrastructure was asked to remove its instance, and has not confirmed that it is gone"
	case q.View.Stage == lifecycle.StageDeleting:
		f.text += ": its removal has begun, and nothing is recorded that is in the way"
	default:
		f.reason = string(lifecycle.ReasonDeleting)
		f.text += ": it was asked for, and no controller has begun with it"
		if q.now.Sub(q.View.Deleted) >= unseen {
			f.next = "see that a machine controller of its provider runs, leads, and serves the API " + q.API + " and the namespace " + q.Namespace
		}
		return f // what it says is about its life
	}
	if s.Status != failing {
		f.chain = quote(s)
	}
	return f
}

// reasonForeign is that of objects which are held by others, and wait for no
// controller of ours.
const reasonForeign = "ForeignFinalizer"

func foreignFinalizer(q *question) *finding {
	if q.View.Held || len(q.Foreign) == 0 {
		return nil
	}
	return &finding{
		state: Stuck, reason: reasonForeign, text: q.going() + ": its instance is gone, and a finalizer of another program holds the object",
		chain: []Cause{{Source: "metadata.finalizers", Reason: reasonForeign, Message: "not ours: " + strings.Join(q.Foreign, ", ")}},
		next:  "see that the program which put it there runs; take the finalizer off only if it never will",
	}
}

func preDrainHook(q *question) *finding {
	if len(q.View.PreDrain) == 0 || q.View.Drained || !q.View.Held {
		return nil
	}
	return q.hooked(lifecycle.DeletionPreDrainHook, lifecycle.ReasonDrainBlockedHook, "drained", q.View.PreDrain)
}

func preTerminateHook(q *question) *finding {
	if len(q.View.PreTerminate) == 0 || !q.View.Held {
		return nil
	}
	return q.hooked(lifecycle.DeletionPreTerminateHook, lifecycle.ReasonTerminateHook, "terminated", q.View.PreTerminate)
}

func (q *question) hooked(step lifecycle.DeletionStep, r lifecycle.Reason, done string, hooks []lifecycle.Hook) *finding {
	kind := "pre-drain"
	if step == lifecycle.DeletionPreTerminateHook {
		kind = "pre-terminate"
	}
	f := &finding{
		state: Stuck, reason: string(r),
		text: q.goingSince(step, "held by a hook") + ": it is not " + done + " before the " + kind + " hook " + hooks[0].Name + " of " + hooks[0].Owner + " is taken off",
	}
	for _, h := range hooks {
		f.chain = append(f.chain, Cause{Source: "spec.lifecycleHooks", Reason: string(r), Message: "hook " + h.Name + " is owned by " + h.Owner})
	}
	f.next = "see what " + hooks[0].Owner + " waits for; it takes the hook off when it is done"
	return f
}

// draining is about pods that are still on the node.
func draining(q *question) *finding {
	if lifecycle.Emptied(q.View, q.Node) || q.View.SkipDrain || !q.View.Held || !q.HasNode() {
		return nil
	}
	left := q.podsLeft()
	recorded := q.said("condition Drained")
	if len(left) == 0 && (recorded.Status != string(corev1.ConditionFalse) || q.seesPods()) {
		return nil
	}
	f := &finding{state: Deleting, reason: string(lifecycle.ReasonDraining), next: "wait: the pods are on their way"}
	going := q.goingSince(lifecycle.DeletionDrain, "in its drain")
	f.text = going + ": " + plural(len(left), "pod") + " still on node " + q.Node.Name
	blocked := q.blockers(left)
	if len(left) == 0 {
		f.text = going + ": its node " + q.Node.Name + " is being drained"
	}
	if len(blocked) > 0 {
		f.state, f.reason = Stuck, string(drain.ReasonBudget)
		b := blocked[0]
		f.text = fmt.Sprintf("%s: pod %s cannot leave node %s, because disruption budget %s allows no disruption", going, b.pod, q.Node.Name, b.budget)
		f.next = b.next(q.Peers)
		for _, b := range blocked[:min(len(blocked), mostCauses)] {
			f.chain = append(f.chain, b.causes(q.Peers)...)
		}
		return f
	}
	f.chain = append(quote(recorded), q.endingPods(left)...)
	if len(f.chain) == 0 {
		f.chain = quote(q.latest())
	}
	return f
}

// mostCauses is how many pods are named.
const mostCauses = 5

// seesPods reports whether the pods of the node could be read.
func (q *question) seesPods() bool {
	return !slices.ContainsFunc(q.Gaps, func(g string) bool { return strings.HasPrefix(g, "pods") })
}

// podsLeft are the pods that a drain has to move.
func (q *question) podsLeft() (out []corev1.Pod) {
	d := drain.Decide(q.now, drain.Facts{Node: q.Node, Pods: q.Pods}, drain.Memory{}, drain.Policy{})
	going := map[string]bool{}
	for _, t := range slices.Concat(d.Evict, d.Delete) {
		going[t.Pod.String()] = true
	}
	for _, b := range slices.Concat(d.Waiting, d.Blocked) {
		going[b.Pod.String()] = true
	}
	for _, p := range q.Pods {
		if going[p.Namespace+"/"+p.Name] {
			out = append(out, p)
		}
	}
	return out
}

// blocker is a pod that a budget keeps.
type blocker struct {
	pod, budget string
	is          *policyv1.PodDisruptionBudget
	pick        labels.Selector
}

// blockers are the pods to which a budget says no at the moment.
func (q *question) blockers(left []corev1.Pod) (out []blocker) {
	for _, p := range left {
		if p.DeletionTimestamp != nil {
			continue
		}
		for i := range q.Budgets {
			b := &q.Budgets[i]
			if b.Namespace != p.Namespace || b.Spec.Selector == nil || b.Status.DisruptionsAllowed > 0 {
				continue
			}
			pick, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if err == nil && pick.Matches(labels.Set(p.Labels)) {
				out = append(out, blocker{p.Namespace + "/" + p.Name, b.Namespace + "/" + b.Name, b, pick})
				break
			}
		}
	}
	return out
}

// causes are the budget's arithmetic and the pods that are not healthy.
func (b blocker) causes(peers []corev1.Pod) []Cause {
	s := b.is.Status
	out := []Cause{{
		Source: "poddisruptionbudget " + b.budget, Reason: string(drain.ReasonBudget),
		Message: fmt.Sprintf("it covers pod %s and allows %d disruptions: of %s %d are healthy, and at least %d must be", b.pod, s.DisruptionsAllowed, plural(int(s.ExpectedPods), "pod"), s.CurrentHealthy, s.DesiredHealthy),
	}}
	sick := b.sick(peers)
	for _, p := range sick[:min(len(sick), mostCauses)] {
		out = append(out, Cause{Source: "pod " + p.Namespace + "/" + p.Name, Reason: "NotReady", Message: "it is not Ready" + colon(unreadyBecause(p))})
	}
	return out
}

// sick are the pods of the budget that are not healthy.
func (b blocker) sick(peers []corev1.Pod) (out []corev1.Pod) {
	for _, p := range peers {
		if p.Namespace == b.is.Namespace && b.pick.Matches(labels.Set(p.Labels)) && !podReady(p) {
			out = append(out, p)
		}
	}
	return out
}

func (b blocker) next(peers []corev1.Pod) string {
	s := b.is.Status
	sick := b.sick(peers)
	switch {
	case len(sick) > 0:
		return "mend pod " + sick[0].Namespace + "/" + sick[0].Name + ", which is not Ready: the budget gives way when enough are"
	case s.CurrentHealthy < s.DesiredHealthy:
		return "run more pods of those that " + b.budget + " covers"
	case s.ExpectedPods > 0 && s.DesiredHealthy >= s.ExpectedPods:
		return "change disruption budget " + b.budget + ", which allows no disruption even with all pods healthy, or run more replicas"
	}
	return "wait until the pods of " + b.budget + " that moved are Ready elsewhere"
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

// endingPods are pods that take their time to end.
func (q *question) endingPods(left []corev1.Pod) (out []Cause) {
	for _, p := range left[:min(len(left), mostCauses)] {
		if at := p.DeletionTimestamp; at != nil {
			out = append(out, Cause{Source: "pod " + p.Namespace + "/" + p.Name, Reason: string(drain.ReasonTerminating), Since: at.Time, Message: "it is told to end"})
		}
	}
	return out
}

// volumesAttached is about volumes that the pods have left behind.
func volumesAttached(q *question) *finding {
	if !q.HasNode() || !q.View.Held || q.View.SkipDrain || q.View.Drained || len(q.Attachments) == 0 {
		return nil
	}
	f := &finding{
		state: Deleting, reason: string(drain.ReasonStillAttached), next: "wait for the volumes to be detached; if it takes long, look at the log of their driver",
		text: fmt.Sprintf("%s: its pods have left, and %s still attached to node %s", q.goingSince(lifecycle.DeletionVolumeDetach, "with no pods left"), are(len(q.Attachments), "volume"), q.Node.Name),
	}
	for _, a := range q.Attachments[:min(len(q.Attachments), mostCauses)] {
		volume := "an inline volume"
		if a.Spec.Source.PersistentVolumeName != nil {
			volume = "volume " + *a.Spec.Source.PersistentVolumeName
		}
		c := Cause{Source: "volumeattachment " + a.Name, Reason: string(drain.ReasonStillAttached), Message: volume + " of " + a.Spec.Attacher + " is attached"}
		if e := a.Status.DetachError; e != nil {
			f.state = Stuck
			c.Message, c.Since = volume+" cannot be detached"+colon(e.Message), e.Time.Time
		}
		f.chain = append(f.chain, c)
	}
	f.chain = append(f.chain, quote(q.latest())...)
	return f
}

func are(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return plural(n, one) + " are"
}

// removalFails is about an instance that cannot be reached or removed.
func removalFails(q *question) *finding {
	s, refused := q.latest(), q.said("condition InstanceDeletionStarted")
	if refused.Message != "" {
		s = refused
	}
	unknown := s.About == "condition InstanceExists" && s.Status == string(corev1.ConditionUnknown)
	if !q.View.Held || s.Status != failing && refused.Message == "" && !unknown && !q.NoClass {
		return nil
	}
	f := &finding{
		state: Stuck, reason: string(lifecycle.ReasonTerminateFailed), chain: quote(s), next: cmp.Or(troubleOf(q.Trouble).next, "wait"),
		text: q.goingSince(lifecycle.DeletionInstance, inInstance) + ": its instance cannot be removed",
	}
	if q.Trouble == "" {
		f.next = "mend what is named; it is tried again by itself"
	}
	if q.NoClass {
		f.reason = string(lifecycle.ReasonDeletionNeedsHelp)
		f.text += ", because its " + q.Class + " does not exist"
		f.next = "restore " + q.Class + "; only if the instance is known to be gone, let the object go with the annotation millwright.dev/abandon-instance"
	}
	return f
}
