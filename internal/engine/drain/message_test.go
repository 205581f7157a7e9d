package drain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What blocks is on the object: pod, budget, reason, since when.
func TestMessage(t *testing.T) {
	never := budget("pdb", maxUnavailable(intstr.FromInt32(0)))
	tests := []struct {
		reason  string
		facts   Facts
		memory  Memory
		policy  Policy
		message string
	}{
		{
			"a budget at its limit",
			Facts{Pods: []corev1.Pod{pod()}, Budgets: []policyv1.PodDisruptionBudget{budget("pdb")}},
			Memory{Attempts: Attempts{"uid-a": *refused(3*time.Second, 1)}},
			Policy{},
			"1 pod has to leave: web/a (disruption budget web/pdb has no room, since 2026-03-01T11:59:57Z)",
		},
		{
			"a budget that never allows, and why",
			Facts{Pods: []corev1.Pod{pod()}, Budgets: []policyv1.PodDisruptionBudget{never}},
			Memory{Attempts: Attempts{"uid-a": *refused(3*time.Second, 1)}},
			Policy{},
			"1 pod has to leave: web/a (disruption budget web/pdb allows no disruption even with all pods healthy: maxUnavailable is 0, since 2026-03-01T11:59:57Z)",
		},
		{
			"several budgets are all named",
			Facts{Pods: []corev1.Pod{pod()}, Budgets: []policyv1.PodDisruptionBudget{budget("two"), budget("one")}},
			Memory{Attempts: Attempts{"uid-a": {At: now, Since: now}}},
			Policy{},
			"1 pod has to leave: web/a (several disruption budgets cover it: web/one, web/two, since 2026-03-01T12:00:00Z)",
		},
		{
			"a pod that takes its time, since its end was asked for",
			Facts{Pods: []corev1.Pod{pod(ending(30*time.Second, 10*time.Second))}},
			Memory{},
			Policy{},
			"1 pod has to leave: web/a (terminating, since 2026-03-01T11:59:40Z)",
		},
		{
			"volumes, and those who wait for them",
			Facts{Node: theNode(), Pods: []corev1.Pod{namedPod("b", claims("b"))}, Volumes: []Volume{volume("b")}, Attachments: []storagev1.VolumeAttachment{attachment("a", "w1")}},
			Memory{Passages: passages(left("a", time.Minute, 0))},
			oneByOne,
			"1 pod has to leave: web/b (others leave before it); volume pv-a of web/gone is being detached, since 2026-03-01T11:59:00Z",
		},
		{
			"a volume past its time",
			Facts{Node: theNode(), Attachments: []storagev1.VolumeAttachment{attachment("a", "w1")}},
			Memory{Passages: passages(left("a", 10*time.Minute, 0))},
			oneByOne,
			"volume pv-a of web/gone is still attached for more than 2m0s, since 2026-03-01T11:50:00Z",
		},
		{
			"what of the policy could not be read",
			Facts{Pods: []corev1.Pod{pod()}},
			Memory{},
			Policy{Remark: "annotation x is passed over"},
			"1 pod has to leave: web/a; annotation x is passed over",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			tt.memory.Begun = now
			d := Decide(now, tt.facts, tt.memory, tt.policy)
			if d.Message != tt.message {
				t.Errorf("got  %s\nwant %s", d.Message, tt.message)
			}
			if later := Decide(now.Add(time.Second), tt.facts, tt.memory, tt.policy); later.Message != d.Message {
				t.Errorf("the message changed although nothing did:\n%s\n%s", d.Message, later.Message)
			}
		})
	}
}

func TestMessageIsBounded(t *testing.T) {
	var pods []corev1.Pod
	attempts := Attempts{}
	for i := range 40 {
		p := namedPod(strings.Repeat("x", 200) + fmt.Sprint(i))
		pods = append(pods, p)
		attempts[p.UID] = Attempt{At: now, Since: now, Reply: strings.Repeat("ü", 300)}
	}
	d := decide(now, pods, nil, attempts, Policy{Remark: strings.Repeat("r", 3000)})
	if len(d.Message) > longest || !strings.Contains(d.Message, " more") || !strings.HasPrefix(d.Message, "40 pods have to leave: web/x") {
		t.Errorf("%d bytes: %s", len(d.Message), d.Message)
	}
}
