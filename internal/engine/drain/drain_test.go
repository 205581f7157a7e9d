package drain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pod returns a pod named a in namespace web, with the given edits.
func pod(edits ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "web", Name: "a", UID: "uid-a", Labels: map[string]string{"app": "web"},
	}}
	for _, e := range edits {
		e(&p)
	}
	return p
}

// decide decides about pods without volumes, after the attempts. Terminating pods have been terminating for
// an hour.
func decide(at time.Time, pods []corev1.Pod, budgets []policyv1.PodDisruptionBudget, a Attempts, p Policy) Decision {
	m := Memory{Begun: now, Attempts: a, Ending: Memory{}.seenToEnd(now.Add(-time.Hour), pods)}
	return Decide(at, Facts{Pods: pods, Budgets: budgets}, m, p)
}

func ownedBy(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "o", Controller: ptr.To(true)}}
	}
}

func mirror(p *corev1.Pod) {
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
}

func finished(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

// ending makes a pod terminating with this grace period, of which this much is left.
func ending(grace, left time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(left)))
		p.DeletionGracePeriodSeconds = ptr.To(int64(grace / time.Second))
	}
}

func graceOf(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(int64(d / time.Second)) }
}

func emptyDir(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}

func TestDecideOnePod(t *testing.T) {
	tests := []struct {
		reason  string
		pod     corev1.Pod
		attempt *Attempt
		policy  Policy
		// want is the decision about the pod ("evict", "delete", or the reason for which it is ignored,
		// waiting or blocked), grace its grace period.
		want  string
		grace *time.Duration
	}{
		{reason: "a pod of a ReplicaSet is evicted", pod: pod(ownedBy("ReplicaSet")), want: "evict"},
		{reason: "an unmanaged pod is evicted too", pod: pod(), want: "evict"},
		{reason: "so is one with local data", pod: pod(emptyDir), want: "evict"},
		{reason: "a DaemonSet would put its pod back", pod: pod(ownedBy("DaemonSet")), want: "DaemonSetPod"},
		{reason: "a mirror pod belongs to the kubelet", pod: pod(mirror), want: "MirrorPod"},
		{reason: "not even force removes what would come back", pod: pod(ownedBy("DaemonSet")), policy: Policy{Force: true}, want: "DaemonSetPod"},
		{reason: "a finished pod is evicted like any other", pod: pod(finished), want: "evict"},
		{reason: "or deleted, where that is preferred", pod: pod(finished), policy: Policy{DeleteFinished: true}, want: "delete"},
		{reason: "a finished pod held by a finalizer runs nothing", pod: pod(finished, ending(0, -time.Hour)), want: "Finished"},
		{reason: "a pod on its way out is waited for", pod: pod(ending(30*time.Second, 10*time.Second)), want: "Terminating"},
		{reason: "for ever, unless told otherwise", pod: pod(ending(30*time.Second, -time.Hour)), want: "Terminating"},
		{
			reason: "told otherwise, not past the limit", pod: pod(ending(30*time.Second, -time.Hour)),
			policy: Policy{SkipTerminatingAfter: time.Minute}, want: "TerminatingTooLong",
		},
		{
			reason: "but until the limit", pod: pod(ending(30*time.Second, -30*time.Second)),
			policy: Policy{SkipTerminatingAfter: time.Minute}, want: "Terminating",
		},
		{
			reason: "a kubelet that falls silent after the eviction would hold the drain for the whole grace period", pod: pod(ending(24*time.Hour, 23*time.Hour)),
			policy: Policy{NodeUnreachable: true}, want: "delete", grace: ptr.To(time.Second),
		},
		{
			reason: "unless the pod was asked again just before", pod: pod(ending(24*time.Hour, 23*time.Hour)), attempt: &Attempt{At: now.Add(-time.Second), Accepted: true},
			policy: Policy{NodeUnreachable: true}, want: "Terminating",
		},
		{
			reason: "a second is not cut short", pod: pod(ending(time.Second, time.Second)),
			policy: Policy{NodeUnreachable: true}, want: "Terminating",
		},
		{
			reason: "nobody confirms the end of a pod on an unreachable node", pod: pod(ending(time.Second, -2*time.Second)),
			policy: Policy{NodeUnreachable: true}, want: "TerminatingTooLong",
		},
		{
			reason: "on which grace is wasted", pod: pod(), policy: Policy{NodeUnreachable: true},
			want: "evict", grace: ptr.To(time.Second),
		},
		{
			reason: "a grace period for all replaces each pod's own", pod: pod(), policy: Policy{GracePeriod: ptr.To(7 * time.Second)},
			want: "evict", grace: ptr.To(7 * time.Second),
		},
		{
			reason: "force leaves a pod some time to end (C2)", pod: pod(graceOf(time.Hour)),
			policy: Policy{Force: true}, want: "delete", grace: ptr.To(DefaultForceGrace),
		},
		{
			reason: "or so much as the policy says", pod: pod(graceOf(time.Hour)),
			policy: Policy{Force: true, ForceGracePeriod: time.Minute}, want: "delete", grace: ptr.To(time.Minute),
		},
		{
			reason: "at most the pod's own", pod: pod(graceOf(5 * time.Second)),
			policy: Policy{Force: true}, want: "delete", grace: ptr.To(5 * time.Second),
		},
		{
			reason: "and none where nobody is there to end it", pod: pod(graceOf(time.Hour)),
			policy: Policy{Force: true, NodeUnreachable: true}, want: "delete", grace: ptr.To(time.Duration(0)),
		},
		{
			reason: "force hurries a pod that takes its time", pod: pod(graceOf(time.Hour), ending(time.Hour, 50*time.Minute)),
			policy: Policy{Force: true}, want: "delete", grace: ptr.To(DefaultForceGrace),
		},
		{
			reason: "and takes away one whose end nobody can confirm", pod: pod(ending(30*time.Second, -time.Second)),
			policy: Policy{Force: true, NodeUnreachable: true}, want: "delete", grace: ptr.To(time.Duration(0)),
		},
		{
			reason: "but waits no longer for one whose end the kubelet does not confirm", pod: pod(ending(30*time.Second, -time.Second)),
			policy: Policy{Force: true}, want: "TerminatingTooLong",
		},
		{
			reason: "and waits for no finalizer", pod: pod(ending(0, -time.Second)),
			policy: Policy{Force: true}, want: "TerminatingTooLong",
		},
		{
			reason: "but leaves the grace it grants", pod: pod(ending(30*time.Second, 20*time.Second)),
			policy: Policy{Force: true, ForceGracePeriod: 30 * time.Second}, want: "Terminating",
		},
		{reason: "a refused pod is not asked again at once (W4)", pod: pod(), attempt: refused(time.Second, 1), want: "DisruptionBudget"},
		{reason: "but after the pause", pod: pod(), attempt: refused(7*time.Second, 1), want: "evict"},
		{reason: "which can be longer", pod: pod(), attempt: refused(7*time.Second, 1), policy: Policy{RetryEvery: 20 * time.Second}, want: "DisruptionBudget"},
		{
			reason: "but deleted at once by whoever has no patience any more (C24)", pod: pod(),
			attempt: &Attempt{At: now, Evicted: true, Refusals: 1, Since: now, Reply: "no room"}, policy: Policy{Force: true}, want: "delete", grace: ptr.To(30 * time.Second),
		},
		{
			reason: "and not deleted twice in a row", pod: pod(),
			attempt: &Attempt{At: now, Since: now, Reply: "busy"}, policy: Policy{Force: true}, want: "EvictionRefused",
		},
		{reason: "an accepted pod that the cache still shows whole is waited for", pod: pod(), attempt: &Attempt{At: now, Accepted: true}, want: "Evicted"},
		{reason: "and asked again when it stays", pod: pod(), attempt: &Attempt{At: now.Add(-time.Minute), Accepted: true}, want: "evict"},
		{reason: "what the API server does not know is not there", pod: pod(), attempt: &Attempt{At: now, Gone: true}, want: "Gone"},
		{reason: "a busy API server is no budget", pod: pod(), attempt: &Attempt{At: now, Since: now, Reply: "try later"}, want: "EvictionRefused"},
		{
			reason: "a budget is honoured for so many attempts", pod: pod(), attempt: refused(7*time.Second, 2),
			policy: Policy{MaxEvictAttempts: 3}, want: "evict",
		},
		{
			reason: "and then overruled, with the pod's own grace", pod: pod(), attempt: refused(7*time.Second, 3),
			policy: Policy{MaxEvictAttempts: 3}, want: "delete",
		},
		{reason: "without a limit it is honoured for ever", pod: pod(), attempt: refused(7*time.Second, 1000), want: "evict"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			attempts := Attempts{}
			if tt.attempt != nil {
				attempts[tt.pod.UID] = *tt.attempt
			}
			d := decide(now, []corev1.Pod{tt.pod}, nil, attempts, tt.policy)
			got, target := verdict(t, d)
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if target != nil && !cmp.Equal(target.Grace, tt.grace) {
				t.Errorf("grace: %s", cmp.Diff(tt.grace, target.Grace))
			}
		})
	}
}

// refused is an attempt that a budget refused so long ago, for the nth time.
func refused(ago time.Duration, n int) *Attempt {
	return &Attempt{At: now.Add(-ago), Since: now.Add(-ago), Refusals: n, Reply: "Cannot evict pod as it would violate the pod's disruption budget."}
}

// verdict returns the part of a decision about a single pod.
func verdict(t *testing.T, d Decision) (string, *Target) {
	t.Helper()
	if n := len(d.Evict) + len(d.Delete) + len(d.Waiting) + len(d.Blocked) + len(d.Ignored); n != 1 {
		t.Fatalf("the pod is filed %d times: %+v", n, d)
	}
	if d.Done != (len(d.Ignored) == 1) {
		t.Errorf("done is %v: %+v", d.Done, d)
	}
	switch {
	case len(d.Evict) == 1:
		return "evict", &d.Evict[0]
	case len(d.Delete) == 1:
		return "delete", &d.Delete[0]
	case len(d.Waiting) == 1:
		return string(d.Waiting[0].Reason), nil
	case len(d.Blocked) == 1:
		return string(d.Blocked[0].Reason), nil
	}
	return string(d.Ignored[0].Reason), nil
}

func budget(name string, edits ...func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Generation: 2},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(2)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, ExpectedPods: 3, CurrentHealthy: 2, DesiredHealthy: 2},
	}
	for _, e := range edits {
		e(&b)
	}
	return b
}

func allowing(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }

func changed(b *policyv1.PodDisruptionBudget) { b.Generation++ }

func healthy(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = b.Status.ExpectedPods }

func TestBlockersNameTheirBudget(t *testing.T) {
	tests := []struct {
		reason  string
		budgets []policyv1.PodDisruptionBudget
		attempt *Attempt
		want    Reason
		budget  string
	}{
		{"the budget that covers the pod is named", []policyv1.PodDisruptionBudget{budget("pdb")}, refused(0, 1), ReasonBudget, "pdb"},
		{"one that has no room at its best is called out", []policyv1.PodDisruptionBudget{budget("pdb", healthy)}, refused(0, 1), ReasonBudgetNever, "pdb"},
		{
			"but not while its status is old",
			[]policyv1.PodDisruptionBudget{budget("pdb", healthy, func(b *policyv1.PodDisruptionBudget) { b.Generation++ })},
			refused(0, 1), ReasonBudget, "pdb",
		},
		{
			"nor while one of its pods is leaving",
			[]policyv1.PodDisruptionBudget{budget("pdb", healthy, func(b *policyv1.PodDisruptionBudget) {
				b.Status.DisruptedPods = map[string]metav1.Time{"b": {}}
			})},
			refused(0, 1), ReasonBudget, "pdb",
		},
		{"two budgets for a pod are refused whatever they say", []policyv1.PodDisruptionBudget{budget("one"), budget("two")}, &Attempt{At: now, Reply: "two"}, ReasonBudgets, "one"},
		{
			"a budget of another namespace is not the pod's",
			[]policyv1.PodDisruptionBudget{budget("pdb", func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" })},
			refused(0, 1), ReasonBudget, "",
		},
		{
			"nor is one for other labels",
			[]policyv1.PodDisruptionBudget{budget("pdb", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = "db" })},
			refused(0, 1), ReasonBudget, "",
		},
		{
			"no selector selects nothing",
			[]policyv1.PodDisruptionBudget{budget("pdb", func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil })},
			refused(0, 1), ReasonBudget, "",
		},
		{"what was not refused by a budget does not accuse one", []policyv1.PodDisruptionBudget{budget("pdb")}, &Attempt{At: now, Reply: "busy"}, ReasonRefused, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := decide(now, []corev1.Pod{pod()}, tt.budgets, Attempts{"uid-a": *tt.attempt}, Policy{})
			if len(d.Blocked) != 1 {
				t.Fatalf("not blocked: %+v", d)
			}
			if b := d.Blocked[0]; b.Reason != tt.want || b.Budget.Name != tt.budget {
				t.Errorf("got %s by %q, want %s by %q", b.Reason, b.Budget.Name, tt.want, tt.budget)
			}
		})
	}
}

func TestMessageNamesTenPods(t *testing.T) {
	var pods []corev1.Pod
	attempts := Attempts{}
	for _, n := range strings.Split("abcdefghijkl", "") {
		pods = append(pods, pod(func(p *corev1.Pod) { p.Name, p.UID = n, types.UID(n) }))
		attempts[types.UID(n)] = *refused(0, 1)
	}
	d := decide(now, pods, []policyv1.PodDisruptionBudget{budget("pdb")}, attempts, Policy{})
	if !strings.HasPrefix(d.Message, "12 pods have to leave: web/a (disruption budget web/pdb has no room, since 2026-03-01T12:00:00Z), ") || !strings.HasSuffix(d.Message, " and 2 more") {
		t.Errorf("got %q", d.Message)
	}
	later := decide(now.Add(time.Second), pods, []policyv1.PodDisruptionBudget{budget("pdb")}, attempts, Policy{})
	if later.Message != d.Message {
		t.Errorf("the message changed although nothing did:\n%s\n%s", d.Message, later.Message)
	}
}

func TestNextIsWhenSomethingIsDue(t *testing.T) {
	tests := []struct {
		reason      string
		pod         corev1.Pod
		attempts    Attempts
		least, most time.Duration
	}{
		{"soon after requests", pod(), nil, pollLeast, pollLeast},
		{"a quarter of the time that a pod has been ending", pod(ending(30*time.Second, 22*time.Second)), nil, 2 * time.Second, 2 * time.Second},
		{"never more than five seconds", pod(ending(time.Hour, 0)), nil, pollMost, pollMost},
		{"when a refused pod may be asked again", pod(), Attempts{"uid-a": *refused(2*time.Second, 1)}, 3 * time.Second, 4 * time.Second},
		{"never when all is done", pod(mirror), nil, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := decide(now, []corev1.Pod{tt.pod}, nil, tt.attempts, Policy{})
			if d.Next < tt.least || d.Next > tt.most {
				t.Errorf("next is in %v, want %v to %v", d.Next, tt.least, tt.most)
			}
		})
	}
}
