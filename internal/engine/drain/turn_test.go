package drain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func withOrder(text string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, OrderAnnotation, text) }
}

func TestOrder(t *testing.T) {
	db, web := namedPod("db", withOrder("10")), namedPod("web", withOrder("-1"))
	tests := []struct {
		reason   string
		pods     []corev1.Pod
		attempts Attempts
		policy   Policy
		want     string
	}{
		{"without the annotation all leave at once, whatever their priority", []corev1.Pod{namedPod("a", withPriority(5)), namedPod("b")}, nil, Policy{}, "evict a, evict b"},
		{"the lowest number first; none is 0", []corev1.Pod{db, web, namedPod("a")}, nil, Policy{}, "evict web, a NotItsTurn, db NotItsTurn"},
		{"then the next", []corev1.Pod{db, namedPod("a")}, nil, Policy{}, "evict a, db NotItsTurn"},
		{"while one ends the next wait", []corev1.Pod{db, namedPod("a", ending(30*time.Second, time.Second))}, nil, Policy{}, "a Terminating, db NotItsTurn"},
		{"while one is blocked as well", []corev1.Pod{db, namedPod("a")}, Attempts{"uid-a": *refused(0, 1)}, Policy{}, "db NotItsTurn, a DisruptionBudget"},
		{"pods that stay hold nobody up", []corev1.Pod{db, namedPod("a", mirror), namedPod("d", ownedBy("DaemonSet"))}, nil, Policy{}, "evict db"},
		{"nor do those that are written off", []corev1.Pod{db, namedPod("a", ending(0, -time.Hour))}, nil, Policy{SkipTerminatingAfter: time.Minute}, "evict db"},
		{"force knows no order", []corev1.Pod{db, web}, nil, Policy{Force: true}, "delete db, delete web"},
		{"what is no number counts as 0", []corev1.Pod{db, namedPod("a", withOrder("soon"))}, nil, Policy{}, "evict a, db NotItsTurn"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := Decide(now, Facts{Pods: tt.pods}, Memory{Begun: now, Attempts: tt.attempts}, tt.policy)
			if got := told(d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCordonLead(t *testing.T) {
	tainted := func(ago time.Duration) *corev1.Node {
		n := theNode()
		at := metav1.NewTime(now.Add(-ago))
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, TimeAdded: &at}}
		return n
	}
	tests := []struct {
		reason string
		node   *corev1.Node
		begun  time.Time
		policy Policy
		want   string
		next   time.Duration
	}{
		{"the first request is made after the lead", theNode(), time.Time{}, Policy{CordonLead: 3 * time.Second}, "a CordonLead", 3 * time.Second},
		{"counted from the first look", theNode(), now.Add(-time.Second), Policy{CordonLead: 3 * time.Second}, "a CordonLead", 2 * time.Second},
		{"and then no more", theNode(), now.Add(-3 * time.Second), Policy{CordonLead: 3 * time.Second}, "evict a", pollLeast},
		{"or from the cordon, where that is known", tainted(time.Minute), time.Time{}, Policy{CordonLead: 30 * time.Second}, "evict a", pollLeast},
		{"a node that is forced has had its time", theNode(), time.Time{}, Policy{CordonLead: time.Hour, Force: true}, "delete a", pollLeast},
		{"nobody is led away from a silent node", theNode(), time.Time{}, Policy{CordonLead: time.Hour, NodeUnreachable: true}, "evict a", pollLeast},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			d := Decide(now, Facts{Node: tt.node, Pods: []corev1.Pod{namedPod("a")}}, Memory{Begun: tt.begun}, tt.policy)
			if got := told(d); got != tt.want || d.Next != tt.next {
				t.Errorf("got %s, next in %v; want %s in %v", got, d.Next, tt.want, tt.next)
			}
			if d.Began != tt.begun.IsZero() {
				t.Errorf("began %v", d.Began)
			}
		})
	}
	d := Decide(now, Facts{Pods: []corev1.Pod{namedPod("a")}}, Memory{Begun: now}, Policy{CordonLead: time.Minute})
	if !strings.Contains(d.Message, "web/a (not before 2026-03-01T12:01:00Z)") {
		t.Errorf("message %q", d.Message)
	}
}
