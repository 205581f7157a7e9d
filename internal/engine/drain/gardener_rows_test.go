package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// standard is the policy of machine.sapcloud.io with the defaults of its flags.
var standard = Policy{
	RetryEvery: 20 * time.Second, MaxEvictAttempts: 360,
	VolumesOneByOne: true, DetachTimeout: 2 * time.Minute, ReattachTimeout: 90 * time.Second, RemoveAttachments: true,
}

func forcing(p *Policy) { p.Force = true }

func forcingUnreachable(p *Policy) { p.Force, p.NodeUnreachable = true, true }

// TestRowsOfGardenerPodSet: RunDrain 2 and 4 in section 2.8 of the Gardener notes.
func TestRowsOfGardenerPodSet(t *testing.T) {
	terminating := namedPod("a", ending(30*time.Second, 10*time.Second))
	kubeSystem := namedPod("a", func(p *corev1.Pod) { p.Namespace = "kube-system" })
	three := podsOf(namedPod("a"), namedPod("b", claims("b")), namedPod("c", claims("c")))
	three.Volumes = []Volume{volume("b"), volume("c")}
	three.Attachments = []storagev1.VolumeAttachment{attachment("b", "w1"), attachment("c", "w1")}
	checkRows(t, standard, []drainRow{
		{row: "RunDrain 2: minus mirror pods", facts: podsOf(namedPod("a", staticPod)), want: "done"},
		{row: "RunDrain 2: minus DaemonSet-controlled", facts: podsOf(namedPod("a", ownedBy("DaemonSet"))), want: "done"},
		{row: "RunDrain 2: everything else included: bare pods", facts: podsOf(namedPod("a")), want: "evict a"},
		{row: "RunDrain 2: emptyDir pods", facts: podsOf(namedPod("a", emptyDir, ownedBy("ReplicaSet"))), want: "evict a"},
		{row: "RunDrain 2: Succeeded pods", facts: podsOf(namedPod("a", finished)), want: "evict a"},
		{row: "RunDrain 2: Failed pods", facts: podsOf(namedPod("a", failedPod)), want: "evict a"},
		{row: "RunDrain 2: already-terminating pods: waited for", facts: podsOf(terminating), want: "a Terminating"},
		{row: "RunDrain 2: kube-system pods", facts: podsOf(kubeSystem), want: "evict a"},
		{row: "RunDrain 4: forced ⇒ all pods in parallel, delete only", facts: three, edit: forcing, want: "delete a, delete b, delete c"},
		{
			row: "RunDrain 4: no waiting for termination: different, for the grace that it leaves a pod", facts: podsOf(terminating), edit: forcing,
			want: "a Terminating",
		},
		{
			row: "RunDrain 4: no waiting for termination beyond that", facts: podsOf(namedPod("a", ending(30*time.Second, -time.Second))), edit: forcing,
			want: "done",
		},
		{row: "RunDrain 4: no waiting for volumes", facts: Facts{Volumes: three.Volumes, Attachments: three.Attachments}, edit: forcing, want: "done"},
		{
			row: "RunDrain 5: split: pods with any PVC volume vs the rest, concurrently", facts: three,
			want: "evict a, evict b, c NotItsTurn",
		},
	})
}

// TestRowsOfGardenerEviction: "Pods without PVC" in section 2.8.
func TestRowsOfGardenerEviction(t *testing.T) {
	one := podsOf(namedPod("a"))
	misconfigured := Facts{Pods: []corev1.Pod{namedPod("a")}, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}}
	checkRows(t, standard, []drainRow{
		{row: "try evict", facts: one, want: "evict a"},
		{
			row: "success ⇒ wait for deletion", facts: one, attempts: Attempts{"uid-a": {At: now.Add(-19 * time.Second), Evicted: true, Accepted: true}},
			want: "a Evicted",
		},
		{row: "NotFound ⇒ done", facts: one, attempts: Attempts{"uid-a": {At: now, Evicted: true, Gone: true}}, want: "done"},
		{
			row: "gone = NotFound or other UID: what has the name now is another pod", facts: podsOf(namedPod("a", func(p *corev1.Pod) { p.UID = "uid-new" })),
			attempts: Attempts{"uid-a": {At: now, Evicted: true, Accepted: true}}, want: "evict a",
		},
		{row: "429 ⇒ else sleep 20s and retry: not before", facts: one, attempts: Attempts{"uid-a": *refused(19*time.Second, 1)}, want: "a DisruptionBudget"},
		{row: "429 ⇒ else sleep 20s and retry: then", facts: one, attempts: Attempts{"uid-a": *refused(25*time.Second, 1)}, want: "evict a"},
		{
			row: "429 ⇒ misconfigured ⇒ fail now: different, it is named and asked again", facts: misconfigured,
			attempts: Attempts{"uid-a": *refused(time.Second, 1)}, want: "a DisruptionBudgetNeverAllows",
		},
		{
			row: "misconfigured: asked again with the others", facts: misconfigured, attempts: Attempts{"uid-a": *refused(25*time.Second, 1)},
			want: "evict a",
		},
		{row: "after maxEvictRetries attempts: 359 are fewer", facts: one, attempts: Attempts{"uid-a": *refused(25*time.Second, 359)}, want: "evict a"},
		{row: "after maxEvictRetries attempts switch to forced delete", facts: one, attempts: Attempts{"uid-a": *refused(25*time.Second, 360)}, want: "delete a"},
		{
			row:   "any other error ⇒ fail: different, the pod is asked again (C29)",
			facts: podsOf(namedPod("a"), namedPod("b")), attempts: Attempts{"uid-a": {At: now, Evicted: true, Since: now, Reply: "internal error"}},
			want: "evict b, a EvictionRefused",
		},
	})
}

// TestRowsOfGardenerGracePeriod: "no grace override" and what became of
// gracePeriodSeconds 0 (C2).
func TestRowsOfGardenerGracePeriod(t *testing.T) {
	for row, c := range map[string]struct {
		own      time.Duration
		refusals int
		edit     func(*Policy)
		want     time.Duration // of the request; -1: the pod's own
	}{
		"evict: no grace override":                                        {own: time.Hour, want: -1},
		"after maxEvictRetries: grace 0: different, its own (C2)":         {own: time.Hour, refusals: 360, want: -1},
		"forced: grace 0: different, 30 s where the kubelet answers (C2)": {own: time.Hour, edit: forcing, want: 30 * time.Second},
		"forced: grace 0: different, never more than its own (C2)":        {own: 3 * time.Second, edit: forcing, want: 3 * time.Second},
		"forced, kubelet silent: grace 0":                                 {own: time.Hour, edit: forcingUnreachable, want: 0},
	} {
		t.Run(row, func(t *testing.T) {
			p := standard
			if c.edit != nil {
				c.edit(&p)
			}
			f := Facts{Node: theNode(), Pods: []corev1.Pod{namedPod("a", graceOf(c.own))}}
			d := Decide(now, f, Memory{Begun: now, Attempts: Attempts{"uid-a": *refused(time.Hour, c.refusals)}}, p)
			asked := append(d.Evict, d.Delete...)
			if len(asked) != 1 {
				t.Fatalf("asked %+v", asked)
			}
			got := time.Duration(-1)
			if g := asked[0].Grace; g != nil {
				got = *g
			}
			if got != c.want {
				t.Errorf("asked with %v, want %v", got, c.want)
			}
		})
	}
}

// TestRowsOfGardenerVolumes: "Pods with PVC" in section 2.8, a to d.
func TestRowsOfGardenerVolumes(t *testing.T) {
	stateful := []corev1.Pod{namedPod("a", claims("a"), withPriority(1)), namedPod("b", claims("b"), withPriority(9))}
	nilPriority := []corev1.Pod{namedPod("a", claims("a")), namedPod("b", claims("b"), withPriority(9))}
	volumes := []Volume{volume("a"), volume("b")}
	held := []storagev1.VolumeAttachment{attachment("a", "w1"), attachment("b", "w1")}
	all := Facts{Pods: stateful, Volumes: volumes, Attachments: held}
	rest := Facts{Pods: stateful[:1], Volumes: volumes, Attachments: held}
	sharing := Facts{
		Pods:    []corev1.Pod{namedPod("a", claims("s")), namedPod("b", claims("s")), namedPod("c", claims("b"))},
		Volumes: []Volume{volume("s", shared), volume("b")}, Attachments: []storagev1.VolumeAttachment{attachment("s", "w1"), attachment("b", "w1")},
	}
	elsewhere := []corev1.Pod{namedPod("b2", claims("b"), on("w2"))}
	detached := Facts{Pods: stateful[:1], Volumes: volumes, Attachments: held[:1], Claimants: elsewhere}
	reattached := detached
	reattached.Attachments = append(held[:1:1], attachment("b", "w2"))
	pending := detached
	notYet := attachment("b", "w2")
	notYet.Status.Attached = false
	pending.Attachments = append(held[:1:1], notYet)
	checkRows(t, standard, []drainRow{
		{row: "serial, sorted by spec.priority descending", facts: all, want: "evict b, a NotItsTurn"},
		{row: "nil priority pointer panics: different, it is 0 (C4)", facts: Facts{Pods: nilPriority, Volumes: volumes, Attachments: held}, want: "evict b, a NotItsTurn"},
		{row: "a: PVs shared by ≥2 of these pods are dropped: where several nodes may have them", facts: sharing, want: "evict a, evict b, evict c"},
		{
			row: "a: errors or empty ⇒ PV not tracked: nobody waits for it, but pods of unknown volumes go one after another", facts: Facts{Pods: stateful},
			want: "evict b, a NotItsTurn",
		},
		{
			row: "a: errors or empty ⇒ PV not tracked: the next one goes when the pod is gone", facts: Facts{Pods: stateful},
			attempts: Attempts{"uid-b": {At: now, Gone: true}}, want: "evict a",
		},
		{
			row: "b: other error ⇒ retry list: but no other pod goes while one may have taken effect", facts: all,
			attempts: Attempts{"uid-b": {At: now.Add(-time.Second), Unclear: true, Reply: "connection reset by peer"}}, want: "a NotItsTurn, b EvictionRefused",
		},
		{row: "b: 429 ⇒ put in retry list, next pod", facts: all, attempts: Attempts{"uid-b": *refused(time.Second, 1)}, want: "evict a, b DisruptionBudget"},
		{
			row: "b: 429 ⇒ misconfigured PDB ⇒ report error for it", facts: Facts{Pods: stateful, Volumes: volumes, Attachments: held, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}},
			attempts: Attempts{"uid-b": *refused(time.Second, 1)}, want: "evict a, b DisruptionBudgetNeverAllows",
		},
		{row: "b: NotFound ⇒ ok", facts: Facts{Pods: stateful, Volumes: volumes, Attachments: held[:1]}, attempts: Attempts{"uid-b": {At: now, Gone: true}}, want: "evict a"},
		{row: "b: other error ⇒ retry list", facts: all, attempts: Attempts{"uid-b": {At: now, Since: now, Reply: "busy"}}, want: "evict a, b EvictionRefused"},
		{row: "b: success ⇒ wait detach", facts: rest, passages: passages(left("b", time.Second, 0)), want: "a NotItsTurn, pv-b VolumeDetaching"},
		{
			row: "b: terminationGrace + pvDetachTimeout: within the grace", facts: Facts{Pods: []corev1.Pod{stateful[0], namedPod("b", claims("b"), ending(time.Minute, time.Second))}, Volumes: volumes, Attachments: held},
			want: "a NotItsTurn, b Terminating",
		},
		{
			row: "b: terminationGrace + pvDetachTimeout: past both", facts: Facts{Pods: []corev1.Pod{stateful[0], namedPod("b", claims("b"), ending(time.Minute, -121*time.Second))}, Volumes: volumes, Attachments: held},
			want: "evict a, b Terminating",
		},
		{
			row: "b: until none of the volume ids matches status.volumesAttached", facts: Facts{Node: theNode("kubernetes.io/csi/d^b"), Pods: stateful[:1], Volumes: volumes, Attachments: held[:1]},
			passages: passages(left("b", time.Second, 0)), want: "a NotItsTurn, pv-b VolumeDetaching",
		},
		{
			row: "b: regexp match: different, names are compared (C3)", facts: Facts{Node: theNode("kubernetes.io/csi/d^.", "kubernetes.io/csi/d^bb"), Pods: stateful[:1], Volumes: volumes, Attachments: held[:1]},
			passages: passages(left("b", time.Second, 0)), want: "evict a",
		},
		{row: "b: detach timeout ⇒ error for this pod, continue with next", facts: rest, passages: passages(left("b", 121*time.Second, 0)), want: "evict a, pv-b VolumeStillAttached"},
		{row: "b: detach timeout: not before", facts: rest, passages: passages(left("b", 119*time.Second, 0)), want: "a NotItsTurn, pv-b VolumeDetaching"},
		{row: "b: then wait reattach", facts: detached, passages: passages(left("b", time.Minute, 89*time.Second)), want: "a NotItsTurn, pv-b VolumeReattaching"},
		{row: "b: until a VA with status.attached && nodeName≠old arrives", facts: reattached, passages: passages(left("b", time.Minute, time.Second)), want: "evict a"},
		{row: "b: a VA that is not attached yet has not arrived", facts: pending, passages: passages(left("b", time.Minute, time.Second)), want: "a NotItsTurn, pv-b VolumeReattaching"},
		{row: "b: reattach timeout is tolerated", facts: detached, passages: passages(left("b", 3*time.Minute, 91*time.Second)), want: "evict a"},
		{
			row: "c: retry pods: 20s; next round", facts: all, attempts: Attempts{"uid-b": *refused(25*time.Second, 1)}, want: "evict b, a NotItsTurn",
		},
		{row: "c: after rounds: force-deleted once with the same waits", facts: all, attempts: Attempts{"uid-b": *refused(25*time.Second, 360)}, want: "delete b, a NotItsTurn"},
		{
			row: "d: deadline: remaining pods are reported as success: different, a volume that is attached is no success (C1)", facts: Facts{Volumes: volumes, Attachments: held[:1]},
			passages: passages(left("a", 24*time.Hour, 0)), want: "pv-a VolumeStillAttached",
		},
		{
			row: "VA support absent ⇒ each PV pod waits the whole pvReattachTimeout: different, nobody waits (P8)", facts: Facts{Pods: stateful[:1], Volumes: volumes, Claimants: elsewhere},
			passages: passages(Passage{Volume: volume("b"), Left: now.Add(-time.Second), Detached: now.Add(-time.Second)}), want: "evict a",
		},
	})
}

// TestRowsOfGardenerAttachments: the step "Delete Volume Attachments" of section
// 2.7, which follows a forced drain.
func TestRowsOfGardenerAttachments(t *testing.T) {
	leaving := attachment("a", "w1")
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	held := []storagev1.VolumeAttachment{attachment("a", "w1"), attachment("b", "w1"), attachment("c", "w2")}
	checkRows(t, standard, []drainRow{
		{row: "node.status.volumesAttached empty ⇒ go on at once", edit: forcingUnreachable, want: "done"},
		{row: "else DELETE every VA with spec.nodeName==node", facts: Facts{Attachments: held}, edit: forcingUnreachable, want: "detach va-a-w1, detach va-b-w1"},
		{row: "and no deletionTimestamp", facts: Facts{Attachments: []storagev1.VolumeAttachment{leaving}}, edit: forcingUnreachable, want: "done"},
		{
			row: "terminating VAs are not waited for", facts: Facts{Node: theNode("kubernetes.io/csi/d^a"), Attachments: []storagev1.VolumeAttachment{leaving}},
			edit: forcingUnreachable, want: "done",
		},
		{
			row: "repeat until no live ones: after the pause", facts: Facts{Attachments: held[:1]}, edit: forcingUnreachable,
			attempts: Attempts{"va-a-w1": {At: now.Add(-25 * time.Second), Since: now.Add(-25 * time.Second), Reply: "busy"}}, want: "detach va-a-w1",
		},
		{row: "forced: different, from a node whose kubelet is silent only", facts: Facts{Attachments: held}, edit: forcing, want: "done"},
	})
}

// TestRowsOfGardenerMisconfiguredBudget: each part of "Misconfigured PDB ⇔" in
// section 2.8, taken away.
func TestRowsOfGardenerMisconfiguredBudget(t *testing.T) {
	for row, c := range map[string]struct {
		edit func(*policyv1.PodDisruptionBudget)
		want Reason
	}{
		"all of it":                        {func(*policyv1.PodDisruptionBudget) {}, ReasonBudgetNever},
		"generation == observedGeneration": {func(b *policyv1.PodDisruptionBudget) { b.Status.ObservedGeneration-- }, ReasonBudget},
		"expectedPods > 0":                 {func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods, b.Status.CurrentHealthy = 0, 0 }, ReasonBudget},
		"currentHealthy ≥ expectedPods":    {func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = b.Status.ExpectedPods - 1 }, ReasonBudget},
		"disruptedPods empty":              {func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods = map[string]metav1.Time{"c": {}} }, ReasonBudget},
		"disruptionsAllowed == 0":          {func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }, ReasonBudget},
		"more than that: maxUnavailable 0, healthy or not": {func(b *policyv1.PodDisruptionBudget) {
			maxUnavailable(intstr.FromInt32(0))(b)
			b.Status = policyv1.PodDisruptionBudgetStatus{}
		}, ReasonBudgetNever},
	} {
		t.Run(row, func(t *testing.T) {
			b := budget("pdb", healthy, c.edit)
			f := Facts{Node: theNode(), Pods: []corev1.Pod{namedPod("a")}, Budgets: []policyv1.PodDisruptionBudget{b}}
			d := Decide(now, f, Memory{Begun: now, Attempts: Attempts{"uid-a": *refused(time.Second, 1)}}, standard)
			if len(d.Blocked) != 1 || d.Blocked[0].Reason != c.want || d.Blocked[0].Budget.Name != "pdb" {
				t.Errorf("blocked by %+v, want %s by pdb", d.Blocked, c.want)
			}
		})
	}
}

// If several PDBs match, the original uses the first one.
func TestRowsOfGardenerSeveralBudgets(t *testing.T) {
	f := Facts{Node: theNode(), Pods: []corev1.Pod{namedPod("a")}, Budgets: []policyv1.PodDisruptionBudget{budget("two"), budget("one")}}
	d := Decide(now, f, Memory{Begun: now, Attempts: Attempts{"uid-a": {At: now, Since: now, Reply: "more than one"}}}, standard)
	if len(d.Blocked) != 1 || d.Blocked[0].Budget.Name != "one" || len(d.Blocked[0].Also) != 1 || d.Blocked[0].Also[0].Name != "two" {
		t.Errorf("several PDBs match: different, all are named: %+v", d.Blocked)
	}
}
