package forecast

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

func webPod(name string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: name, UID: "uid", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func webBudget(least string, allowed int32) policyv1.PodDisruptionBudget {
	return policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.Parse(least)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ExpectedPods: 3, CurrentHealthy: 2, DesiredHealthy: 2},
	}
}

// exitOf returns the deletion of a machine with a node that has these pods.
func exitOf(pods ...corev1.Pod) Exit {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return Exit{
		Machine: lifecycle.Machine{UID: "uid-m", Name: "m", HasFinalizer: true, Stage: lifecycle.StageRunning, Recorded: lifecycle.Recorded{ProviderID: "test:///m", NodeName: "n", Provisioned: true}},
		Node:    node, Pods: drain.Facts{Pods: pods},
	}
}

// TestVolumes: the drain names the volumes for which it waits: those that only one node at a time can attach,
// that are attached, and that no staying pod uses.
func TestVolumes(t *testing.T) {
	uses := func(claim string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		}
	}
	daemon := func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }
	volume := func(name string, shared bool) drain.Volume {
		return drain.Volume{Name: "pv-" + name, Claim: types.NamespacedName{Namespace: "web", Name: name}, Shared: shared}
	}
	attached := func(names ...string) (out []storagev1.VolumeAttachment) {
		for _, name := range names {
			out = append(out, storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv-" + name)}}})
		}
		return out
	}
	for _, test := range []struct {
		reason      string
		pods        []corev1.Pod
		volumes     []drain.Volume
		attachments []storagev1.VolumeAttachment
		policy      drain.Policy
		unread      string
		want        string
	}{
		{"of a pod that leaves", []corev1.Pod{webPod("a", uses("a"))}, []drain.Volume{volume("a", false)}, attached("a"), drain.Policy{VolumesOneByOne: true}, "", "waits until it is detached: volume pv-a"},
		{"of a pod that left before", nil, nil, attached("b", "a"), drain.Policy{VolumesOneByOne: true}, "", "waits until they are detached: volumes pv-a, pv-b"},
		{"many are counted", nil, nil, attached("a", "b", "c", "d", "e", "f", "g"), drain.Policy{VolumesOneByOne: true}, "", "waits until they are detached: volumes pv-a, pv-b, pv-c, pv-d, pv-e and 2 more"},
		{"of a pod that stays", []corev1.Pod{webPod("a", uses("a"), daemon)}, []drain.Volume{volume("a", false)}, attached("a"), drain.Policy{VolumesOneByOne: true}, "", ""},
		{"that several nodes may have", []corev1.Pod{webPod("a", uses("a"))}, []drain.Volume{volume("a", true)}, attached("a"), drain.Policy{VolumesOneByOne: true}, "", ""},
		{"that is mounted over a network", []corev1.Pod{webPod("a", uses("a"))}, []drain.Volume{volume("a", false)}, nil, drain.Policy{VolumesOneByOne: true}, "", ""},
		{"in an API that waits for none", []corev1.Pod{webPod("a", uses("a"))}, []drain.Volume{volume("a", false)}, attached("a"), drain.Policy{}, "", ""},
		{"where force waits for none", []corev1.Pod{webPod("a", uses("a"))}, []drain.Volume{volume("a", false)}, attached("a"), drain.Policy{VolumesOneByOne: true, Force: true}, "", ""},
		{"that could not be read", nil, nil, nil, drain.Policy{VolumesOneByOne: true}, "volumes were not read", "unknown whether it waits for volumes"},
		{"that could not be read, in an API that waits for none", nil, nil, nil, drain.Policy{}, "volumes were not read", ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			e := exitOf(test.pods...)
			e.Pods.Volumes, e.Pods.Attachments, e.VolumesUnread, e.Policy.Drain.Policy = test.volumes, test.attachments, test.unread, test.policy
			if got := leave(epoch, e).waitsFor(); got != test.want {
				t.Errorf("a volume %s: %q, want %q", test.reason, got, test.want)
			}
		})
	}
}

// TestTogether: a budget that allows the eviction of each single machine's pods may not allow all at once.
func TestTogether(t *testing.T) {
	subject := func(budget string, n, room int) Subject {
		e := exitOf()
		for i := range n {
			e.Pods.Pods = append(e.Pods.Pods, webPod(string(rune('a'+i))))
		}
		e.Pods.Budgets = []policyv1.PodDisruptionBudget{webBudget(budget, int32(room))}
		l := leave(epoch, e)
		return Subject{Exit: &l}
	}
	for _, test := range []struct {
		reason string
		all    []Subject
		want   string
	}{
		{"one has room", []Subject{subject("1", 1, 1)}, ""},
		{"two have not", []Subject{subject("1", 1, 1), subject("1", 1, 1)}, "disruption budget web/web covers 2 of the pods of these machines and allows 1 disruption now"},
		{"with room for both they have", []Subject{subject("1", 1, 2), subject("1", 1, 2)}, ""},
		{"what one alone is told is not told again", []Subject{subject("1", 2, 1), subject("1", 1, 1)}, ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := ""
			for _, b := range together(test.all) {
				got += b.Message
			}
			if got != test.want {
				t.Errorf("%s: %q, want %q", test.reason, got, test.want)
			}
		})
	}
}

func TestLeave(t *testing.T) {
	for _, test := range []struct {
		reason string
		exit   func() Exit
		want   Leave
		says   string
	}{
		{reason: "an empty node has nothing to drain", exit: func() Exit { return exitOf() }, want: Leave{Drains: true}},
		{reason: "pods are counted", exit: func() Exit { return exitOf(webPod("a"), webPod("b")) }, want: Leave{Drains: true, Pods: 2}},
		{
			reason: "a daemon set's pod stays", want: Leave{Drains: true, Pods: 1},
			exit: func() Exit {
				return exitOf(webPod("a"), webPod("b", func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }))
			},
		},
		{
			reason: "a budget with room for all is not in the way", want: Leave{Drains: true, Pods: 1},
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Pods.Budgets = []policyv1.PodDisruptionBudget{webBudget("2", 1)}
				return e
			},
		},
		{
			reason: "one with less room slows the drain", says: "covers 2 of its pods and allows 1 disruption now",
			exit: func() Exit {
				e := exitOf(webPod("a"), webPod("b"))
				e.Pods.Budgets = []policyv1.PodDisruptionBudget{webBudget("2", 1)}
				return e
			},
			want: Leave{Drains: true, Pods: 2, Blocked: []Block{{Budget: "web/web", Allowed: 1, Covered: 2}}, Slow: "*"},
		},
		{
			reason: "a pod that does not run yet is evicted whatever its budget says", want: Leave{Drains: true, Pods: 1},
			exit: func() Exit {
				e := exitOf(webPod("a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }))
				e.Pods.Budgets = []policyv1.PodDisruptionBudget{webBudget("2", 0)}
				return e
			},
		},
		{
			reason: "a budget that never has room keeps the machine", says: "minAvailable is 100%",
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Pods.Budgets = []policyv1.PodDisruptionBudget{webBudget("100%", 0)}
				return e
			},
			want: Leave{Drains: true, Pods: 1, Blocked: []Block{{Pod: "web/a", Budget: "web/web", Covered: 1, Endless: true}}, Stays: "*"},
		},
		{
			reason: "unless the drain is forced some time", says: "minAvailable is 100%",
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Pods.Budgets, e.Policy.Drain.Timeout = []policyv1.PodDisruptionBudget{webBudget("100%", 0)}, time.Hour
				return e
			},
			want: Leave{Drains: true, Pods: 1, Blocked: []Block{{Pod: "web/a", Budget: "web/web", Covered: 1, Endless: true}}, Slow: "*", Forced: time.Hour},
		},
		{
			reason: "a forced deletion asks no budget", want: Leave{Drains: true, Pods: 1},
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Machine.Deletion.Force, e.Pods.Budgets = true, []policyv1.PodDisruptionBudget{webBudget("100%", 0)}
				return e
			},
		},
		{
			reason: "a machine that excludes its node is not drained", want: Leave{},
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Machine.Deletion.SkipDrain = true
				return e
			},
		},
		{
			reason: "a machine without a node is not drained", want: Leave{},
			exit: func() Exit {
				e := exitOf()
				e.Node = nil
				return e
			},
		},
		{
			reason: "hooks keep the machine", want: Leave{Drains: true, Pods: 1, Hooks: []string{"etcd (etcd-operator)"}, Stays: "*"},
			exit: func() Exit {
				e := exitOf(webPod("a"))
				e.Machine.Deletion.PreDrain = []lifecycle.Hook{{Name: "etcd", Owner: "etcd-operator"}}
				return e
			},
		},
		{
			reason: "pods that were not read are not none", want: Leave{Drains: true, Unknown: "pods were not read"},
			exit: func() Exit {
				e := exitOf()
				e.Unread = "pods were not read"
				return e
			},
		},
		{
			reason: "nor is a node", want: Leave{Unknown: "nodes were not read"},
			exit: func() Exit {
				e := exitOf()
				e.Node, e.NodeUnread = nil, "nodes were not read"
				return e
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			got := leave(epoch, test.exit())
			all := got.Stays + got.Slow
			got.Budgets = nil
			for i := range got.Blocked {
				all += got.Blocked[i].Message
				got.Blocked[i].Message = ""
			}
			if !strings.Contains(all, test.says) {
				t.Errorf("%s: %q does not say %q", test.reason, all, test.says)
			}
			for _, text := range []*string{&got.Stays, &got.Slow} {
				if *text != "" {
					*text = "*"
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s:\n%+v, want\n%+v", test.reason, got, test.want)
			}
		})
	}
}
