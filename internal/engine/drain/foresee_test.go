package drain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func maxUnavailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &v }
}

func minAvailable(v intstr.IntOrString) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = &v }
}

func alwaysAllow(b *policyv1.PodDisruptionBudget) {
	b.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
}

func ready(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func TestForesee(t *testing.T) {
	owned := ownedBy("ReplicaSet")
	tests := []struct {
		reason  string
		pod     corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		volumes []Volume
		policy  Policy
		want    Reason
		endless bool
		message string
	}{
		{reason: "nothing stands in the way", pod: pod(owned, ready)},
		{reason: "a budget without room at the moment is no obstacle", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb")}},
		{
			reason: "one that allows none with all healthy is", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)},
			want: ReasonBudgetNever, endless: true, message: "disruption budget web/pdb allows no disruption even with all pods healthy",
		},
		{
			reason: "maxUnavailable 0, healthy or not", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromInt32(0)))},
			want: ReasonBudgetNever, endless: true, message: "maxUnavailable is 0",
		},
		{
			reason: "maxUnavailable 0 %", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromString("0%")))},
			want: ReasonBudgetNever, endless: true, message: "maxUnavailable is 0%",
		},
		{
			reason: "minAvailable 100 %", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", minAvailable(intstr.FromString("100%")))},
			want: ReasonBudgetNever, endless: true, message: "minAvailable is 100%",
		},
		{reason: "maxUnavailable 1 has its times", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromInt32(1)))}},
		{
			reason: "two budgets for one pod are named", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("one"), budget("two")},
			want: ReasonBudgets, endless: true, message: "web/one, web/two",
		},
		{
			reason: "a budget that lets the sick go holds no sick pod", pod: pod(owned, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }),
			budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromInt32(0)), alwaysAllow)},
		},
		{
			reason: "but a healthy one", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", maxUnavailable(intstr.FromInt32(0)), alwaysAllow)},
			want: ReasonBudgetNever, endless: true,
		},
		{reason: "no budget holds a finished pod", pod: pod(owned, finished), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}},
		{reason: "nor one that has not started", pod: pod(owned, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}},
		{reason: "nor one that ends", pod: pod(owned, ending(0, 0)), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}},
		{reason: "a pod that stays is not asked", pod: pod(ownedBy("DaemonSet"), emptyDir), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}},
		{reason: "force asks no budget", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}, policy: Policy{Force: true}},
		{
			reason: "a budget that is overruled in the end is no end", pod: pod(owned, ready), budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)},
			policy: Policy{MaxEvictAttempts: 360}, want: ReasonBudgetNever, message: "it is overruled after 360 attempts",
		},
		{reason: "a bare pod with local data", pod: pod(emptyDir), want: ReasonLocalData, message: "no controller creates it again"},
		{
			reason: "or with a directory of the node", pod: pod(func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "h", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}
			}), want: ReasonLocalData, message: "volume h",
		},
		{reason: "a bare pod without data is only a pod", pod: pod()},
		{reason: "a controller makes a pod again that chose to begin empty", pod: pod(owned, emptyDir)},
		{
			reason: "a volume that exists on this node only", pod: pod(owned, claims("c")),
			volumes: []Volume{volume("c", func(v *Volume) { v.Local = true })}, want: ReasonLocalVolume, message: "volume pv-c",
		},
		{reason: "one that can be attached elsewhere does not matter", pod: pod(owned, claims("c")), volumes: []Volume{volume("c")}},
		{reason: "an order that cannot be read", pod: pod(owned, withOrder("first")), want: ReasonOrder, message: `millwright.dev/drain-order is "first"`},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got := Foresee(Facts{Pods: []corev1.Pod{tt.pod}, Budgets: tt.budgets, Volumes: tt.volumes}, tt.policy)
			if tt.want == "" {
				if len(got) != 0 {
					t.Fatalf("got %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Reason != tt.want || got[0].Endless != tt.endless || !strings.Contains(got[0].Message, tt.message) {
				t.Fatalf("got %+v", got)
			}
			if b := got[0].Budget.Name != ""; b != (tt.want == ReasonBudgets || tt.want == ReasonBudgetNever) {
				t.Errorf("budget %q", got[0].Budget)
			}
		})
	}
}

// A warning stands until the pod was evicted; then the answer is more precise.
func TestObstaclesStandUntilTheirPodIsAsked(t *testing.T) {
	p := pod(ready)
	f := Facts{Pods: []corev1.Pod{p}, Budgets: []policyv1.PodDisruptionBudget{budget("pdb", healthy)}}
	m := Memory{Obstacles: Foresee(f, Policy{})}
	first := Decide(now, f, m, Policy{})
	const warning = "this drain cannot finish by itself: web/a: disruption budget web/pdb allows no disruption even with all pods healthy"
	if !first.Began || len(first.Obstacles) != 1 || first.Message != "1 pod has to leave: web/a; "+warning {
		t.Errorf("first look: %+v", first)
	}
	m.Begun, m.Attempts = now, Attempts{p.UID: *refused(0, 1)}
	if d := Decide(now, f, m, Policy{}); len(d.Obstacles) != 0 || strings.Contains(d.Message, "cannot finish") {
		t.Errorf("refused: %+v", d)
	}
	m.Attempts = Attempts{p.UID: {At: now, Gone: true}}
	if d := Decide(now, f, m, Policy{}); len(d.Obstacles) != 0 || !d.Done {
		t.Errorf("gone: %+v", d)
	}
}
