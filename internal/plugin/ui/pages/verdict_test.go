package pages

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

func podOn(name, app, owner string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: "uid", Labels: map[string]string{"app": app}}}
	if owner != "" {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: ptr.To(true)}}
	}
	p.Status.Phase = corev1.PodRunning
	return p
}

func pdb(name, app string, allowed, healthy, desired, expected int32) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: desired, ExpectedPods: expected}
	return b
}

// TestVerdict: whether a drain would finish, which budget is in the way of which pods, and what the user can do.
func TestVerdict(t *testing.T) {
	never := pdb("never", "a", 0, 2, 2, 2)
	never.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
	for _, c := range []struct {
		reason   string
		pods     []corev1.Pod
		budgets  []policyv1.PodDisruptionBudget
		finishes bool
		sentence string
		blocks   string
		do       string
	}{
		{"an empty node", nil, nil, true, "at once", "", ""},
		{"only a DaemonSet", []corev1.Pod{podOn("d", "d", "DaemonSet")}, nil, true, "at once", "", ""},
		{"no budget", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, nil, true, "1 pod has to leave, and no PodDisruptionBudget is in the way", "", ""},
		{"a budget with room", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{pdb("b", "a", 1, 3, 2, 3)}, true, "would finish now", "", ""},
		{"a budget of other pods", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{pdb("b", "x", 0, 0, 1, 1)}, true, "would finish now", "", ""},
		{"a budget without room", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{pdb("b", "a", 0, 1, 2, 3)}, false, "would not finish now", "web/b 0 1/2/3 web/a", "kubectl get pods -n web -l 'app=a'"},
		{"room for one of two", []corev1.Pod{podOn("a1", "a", "ReplicaSet"), podOn("a2", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{pdb("b", "a", 1, 3, 2, 3)}, false, "in steps", "web/b 1 3/2/3 web/a1,web/a2", "wait"},
		{"a budget that never has room", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{never}, false, "a user has to change", "web/never 0 2/2/2 web/a", "kubectl edit poddisruptionbudget never -n web"},
		{"two budgets", []corev1.Pod{podOn("a", "a", "ReplicaSet")}, []policyv1.PodDisruptionBudget{pdb("b", "a", 1, 3, 2, 3), pdb("c", "a", 1, 3, 2, 3)}, false, "a user has to change", "web/b, web/c 1 3/2/3 web/a", "keep one PodDisruptionBudget"},
	} {
		d := collect.Detail{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}, Pods: c.pods, Budgets: c.budgets, PodsRead: true}
		v := VerdictOf(noon, nil, d)
		var blocks, do []string
		for _, b := range v.Blocks {
			blocks = append(blocks, fmt.Sprintf("%s %d %d/%d/%d %s", b.Budget, b.Allowed, b.Healthy, b.Desired, b.Expected, strings.Join(b.Pods, ",")))
			do = append(do, b.Do)
		}
		if v.Finishes != c.finishes || !strings.Contains(v.Sentence, c.sentence) || strings.Join(blocks, ";") != c.blocks || !strings.Contains(strings.Join(do, ";"), c.do) {
			t.Errorf("%s: %+v", c.reason, v)
		}
	}
	lone := podOn("lone", "l", "")
	lone.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	d := collect.Detail{Node: &corev1.Node{}, Pods: []corev1.Pod{lone}, PodsRead: true}
	if v := VerdictOf(noon, nil, d); !strings.Contains(strings.Join(v.Notes, ";"), "no controller creates web/lone again") || !strings.Contains(strings.Join(v.Notes, ";"), "data of its volume data are lost") {
		t.Errorf("%+v", v.Notes)
	}
	if d.PodsRead = false; VerdictOf(noon, nil, d) != nil {
		t.Error("a verdict about pods that could not be read")
	}
}
