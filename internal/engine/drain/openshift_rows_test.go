package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// drainRow is a sentence of a specification and its result here: the state of a drain after an hour.
type drainRow struct {
	// row quotes the specification.
	row      string
	facts    Facts
	attempts Attempts
	passages map[string]Passage
	edit     func(*Policy)
	want     string
}

func checkRows(t *testing.T, base Policy, rows []drainRow) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.row] {
			t.Fatalf("two rows are called %q", r.row)
		}
		seen[r.row] = true
		t.Run(r.row, func(t *testing.T) {
			p := base
			if r.edit != nil {
				r.edit(&p)
			}
			if r.facts.Node == nil {
				r.facts.Node = theNode()
			}
			m := Memory{Begun: now.Add(-time.Hour), Attempts: r.attempts, Passages: r.passages}
			m.Ending = m.seenToEnd(m.Begun, r.facts.Pods)
			if got := told(Decide(now, r.facts, m, p)); got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
}

func podsOf(pods ...corev1.Pod) Facts { return Facts{Pods: pods} }

func unreachable(p *Policy) { p.NodeUnreachable = true }

// staticPod makes a pod the mirror of a static pod, which the node controls.
func staticPod(p *corev1.Pod) {
	mirror(p)
	ownedBy("Node")(p)
}

func failedPod(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }

// TestRowsOfOpenShiftPodFilter: section 2.4 of the OpenShift notes, "pod filter
// results", with the policy that the API has: none.
func TestRowsOfOpenShiftPodFilter(t *testing.T) {
	checkRows(t, Policy{}, []drainRow{
		{
			row:   "pods with deletionTimestamp older than SkipWaitForDelete seconds skipped: an unreachable node, 1 s",
			facts: podsOf(namedPod("a", ending(time.Second, -2*time.Second))), edit: unreachable, want: "done",
		},
		{
			row:   "pods with deletionTimestamp, younger: waited for",
			facts: podsOf(namedPod("a", ending(30*time.Second, time.Second))), edit: unreachable, want: "a Terminating",
		},
		{
			row:   "pods with deletionTimestamp, younger: asked again with a grace period of a second",
			facts: podsOf(namedPod("a", ending(10*time.Minute, 9*time.Minute))), edit: unreachable, want: "delete a",
		},
		{
			row:   "SkipWaitForDelete only where the node is unreachable",
			facts: podsOf(namedPod("a", ending(time.Second, -24*time.Hour))), want: "a Terminating",
		},
		{row: "DaemonSet-managed pods skipped", facts: podsOf(namedPod("a", ownedBy("DaemonSet"))), want: "done"},
		{
			row:   "orphaned DaemonSet pods deleted: different, the garbage collector does that",
			facts: podsOf(namedPod("a", ownedBy("DaemonSet")), namedPod("b")), want: "evict b",
		},
		{row: "static/mirror pods skipped", facts: podsOf(namedPod("a", staticPod)), want: "done"},
		{row: "emptyDir pods evicted with warning", facts: podsOf(namedPod("a", emptyDir, ownedBy("ReplicaSet"))), want: "evict a"},
		{row: "unmanaged pods evicted with warning", facts: podsOf(namedPod("a")), want: "evict a"},
		{row: "Succeeded pods always evicted", facts: podsOf(namedPod("a", finished, ownedBy("Job"))), want: "evict a"},
		{row: "Failed pods always evicted", facts: podsOf(namedPod("a", failedPod, ownedBy("Job"))), want: "evict a"},
	})
}

// TestRowsOfOpenShiftEviction: the rest of that paragraph, and step 3 of
// drainNode.
func TestRowsOfOpenShiftEviction(t *testing.T) {
	claimed := Facts{
		Pods:    []corev1.Pod{namedPod("a", claims("a")), namedPod("b", claims("b"))},
		Volumes: []Volume{volume("a"), volume("b")}, Attachments: []storagev1.VolumeAttachment{attachment("a", "w1"), attachment("b", "w1")},
	}
	never := Facts{Pods: []corev1.Pod{namedPod("a", ready)}, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromInt32(0)))}}
	checkRows(t, Policy{}, []drainRow{
		{row: "Evictions go in parallel, one per pod", facts: podsOf(namedPod("a"), namedPod("b"), namedPod("c")), want: "evict a, evict b, evict c"},
		{row: "in parallel also where pods have volumes", facts: claimed, want: "evict a, evict b"},
		{
			row: "after acceptance waits for disappearance", facts: podsOf(namedPod("a")), attempts: Attempts{"uid-a": {At: now, Evicted: true, Accepted: true}},
			want: "a Evicted",
		},
		{row: "429 ⇒ retry", facts: podsOf(namedPod("a")), attempts: Attempts{"uid-a": *refused(7*time.Second, 1)}, want: "evict a"},
		{
			row:   "429 ⇒ retry: different, not while its budget says that it allows none",
			facts: Facts{Pods: podsOf(namedPod("a")).Pods, Budgets: []policyv1.PodDisruptionBudget{budget("pdb")}}, attempts: Attempts{"uid-a": *refused(29*time.Second, 1)},
			want: "a DisruptionBudget",
		},
		{
			row:   "429 ⇒ retry: after 30 s whatever is known of its budget",
			facts: Facts{Pods: podsOf(namedPod("a")).Pods, Budgets: []policyv1.PodDisruptionBudget{budget("pdb")}}, attempts: Attempts{"uid-a": *refused(37*time.Second, 1)},
			want: "evict a",
		},
		{
			row:   "429 ⇒ retry: at once where its budget has room again",
			facts: Facts{Pods: podsOf(namedPod("a")).Pods, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", allowing)}}, attempts: Attempts{"uid-a": *refused(7*time.Second, 1)},
			want: "evict a",
		},
		{
			row:   "429 ⇒ retry: one that was changed allows none until that was looked at",
			facts: Facts{Pods: podsOf(namedPod("a")).Pods, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", allowing, changed)}}, attempts: Attempts{"uid-a": *refused(7*time.Second, 1)},
			want: "a DisruptionBudget",
		},
		{
			row:   "W4: retry delay 0 ⇒ busy loop: different, 5 s between two requests",
			facts: podsOf(namedPod("a")), attempts: Attempts{"uid-a": *refused(4999*time.Millisecond, 1)}, want: "a DisruptionBudget",
		},
		{
			row:   "W2: each attempt blocks ≤20s: different, a pod that is refused holds up no other",
			facts: podsOf(namedPod("a"), namedPod("b")), attempts: Attempts{"uid-a": *refused(time.Second, 1)}, want: "evict b, a DisruptionBudget",
		},
		{
			row:   "there is no overall drain timeout (infinite retry)",
			facts: podsOf(namedPod("a")), attempts: Attempts{"uid-a": *refused(7*24*time.Hour, 1_000_000)}, want: "evict a",
		},
		{row: "Never force-deletes: although the budget never allows it", facts: never, attempts: Attempts{"uid-a": *refused(time.Minute, 1000)}, want: "evict a"},
		{row: "Node unreachable: PDBs are still honoured", facts: never, attempts: Attempts{"uid-a": *refused(time.Minute, 1000)}, edit: unreachable, want: "evict a"},
	})
}

// Step 3 of drainNode: GracePeriodSeconds −1 is the pod's own; 1 on a node whose
// kubelet is silent.
func TestRowsOfOpenShiftGracePeriod(t *testing.T) {
	p := namedPod("a", graceOf(time.Hour))
	for row, c := range map[string]struct {
		policy Policy
		want   time.Duration // of the request; -1: the pod's own
	}{
		"GracePeriodSeconds −1 (pod's own)":      {Policy{}, -1},
		"Node unreachable: GracePeriodSeconds=1": {Policy{NodeUnreachable: true}, time.Second},
	} {
		t.Run(row, func(t *testing.T) {
			d := Decide(now, Facts{Node: theNode(), Pods: []corev1.Pod{p}}, Memory{Begun: now}, c.policy)
			if len(d.Evict) != 1 {
				t.Fatalf("not evicted: %+v", d)
			}
			got := time.Duration(-1)
			if g := d.Evict[0].Grace; g != nil {
				got = *g
			}
			if got != c.want {
				t.Errorf("asked with %v, want %v", got, c.want)
			}
		})
	}
}
