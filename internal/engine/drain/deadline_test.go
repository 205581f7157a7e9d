package drain

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// before is a policy with a deadline so long from now.
func before(left time.Duration, edits ...func(*Policy)) Policy {
	p := Policy{Deadline: now.Add(left)}
	for _, e := range edits {
		e(&p)
	}
	return p
}

func forcesLate(p *Policy) { p.ForceLate = true }

func TestDeadlineOfOnePod(t *testing.T) {
	refusal := &Attempt{At: now.Add(-3 * time.Second), Evicted: true, Refusals: 1, Reply: "no room", Since: now.Add(-time.Minute)}
	tests := []struct {
		reason  string
		pod     corev1.Pod
		attempt *Attempt
		policy  Policy
		want    string
		grace   time.Duration // zero: the pod's own
	}{
		{reason: "a pod that ends in time has its own grace period", pod: pod(), policy: before(2 * time.Minute), want: "evict"},
		{reason: "one with too long a grace period ends 2 s before the deadline", pod: pod(graceOf(time.Hour)), policy: before(2 * time.Minute), want: "evict", grace: 118 * time.Second},
		{reason: "in whole seconds, rounded down", pod: pod(graceOf(time.Hour)), policy: before(90*time.Second + 900*time.Millisecond), want: "evict", grace: 88 * time.Second},
		{reason: "a shorter one for all is cut no further", pod: pod(), policy: before(2*time.Minute, func(p *Policy) { p.GracePeriod = ptr.To(7 * time.Second) }), want: "evict", grace: 7 * time.Second},
		{reason: "a longer one for all is cut", pod: pod(), policy: before(time.Minute, func(p *Policy) { p.GracePeriod = ptr.To(time.Hour) }), want: "evict", grace: 58 * time.Second},
		{reason: "something is left to the very end", pod: pod(), policy: before(time.Second), want: "evict", grace: time.Second},

		{reason: "a budget holds before the margin", pod: pod(), attempt: refusal, policy: before(16*time.Second, forcesLate), want: "DisruptionBudget"},
		{reason: "at the margin it does not, and the pause after the last request neither", pod: pod(), attempt: refusal, policy: before(15*time.Second, forcesLate), want: "delete", grace: 13 * time.Second},
		{reason: "a pod that was never asked is deleted, too", pod: pod(graceOf(5 * time.Second)), policy: before(10*time.Second, forcesLate), want: "delete"},
		{reason: "who never forces does not force at the end", pod: pod(), attempt: refusal, policy: before(time.Second), want: "DisruptionBudget"},
		{reason: "and goes on asking", pod: pod(), attempt: &Attempt{At: now.Add(-7 * time.Second), Evicted: true, Refusals: 1}, policy: before(10 * time.Second), want: "evict", grace: 8 * time.Second},
		{
			reason: "so often that a number of attempts means nothing", pod: pod(), attempt: &Attempt{At: now.Add(-7 * time.Second), Evicted: true, Refusals: 9},
			policy: before(time.Minute, forcesLate, func(p *Policy) { p.MaxEvictAttempts = 3 }), want: "evict",
		},
		{
			reason: "a request every 20 s is too seldom now", pod: pod(), attempt: &Attempt{At: now.Add(-7 * time.Second), Evicted: true, Refusals: 1},
			policy: before(time.Minute, func(p *Policy) { p.RetryEvery = 20 * time.Second }), want: "evict",
		},
		{
			reason: "a pod that was deleted late is not deleted again at once", pod: pod(), attempt: &Attempt{At: now.Add(-time.Second), Accepted: true},
			policy: before(10*time.Second, forcesLate), want: "Evicted",
		},
		{reason: "force has its own grace period", pod: pod(graceOf(time.Hour)), policy: before(time.Hour, func(p *Policy) { p.Force = true }), want: "delete", grace: DefaultForceGrace},
		{reason: "unless that is too long", pod: pod(graceOf(time.Hour)), policy: before(20*time.Second, func(p *Policy) { p.Force = true }), want: "delete", grace: 18 * time.Second},

		{reason: "a pod that ends in time is waited for", pod: pod(ending(30*time.Second, 20*time.Second)), policy: before(time.Minute), want: "Terminating"},
		{reason: "one that would not is told to hurry, which no budget has a say in", pod: pod(ending(10*time.Minute, 5*time.Minute)), policy: before(time.Minute), want: "delete", grace: 58 * time.Second},
		{reason: "once it was", pod: pod(ending(58*time.Second, 58*time.Second)), policy: before(time.Minute), want: "Terminating"},
		{reason: "not twice in a row", pod: pod(ending(10*time.Minute, 5*time.Minute)), attempt: &Attempt{At: now.Add(-time.Second), Accepted: true}, policy: before(time.Minute), want: "Terminating"},
		{reason: "not where the API server takes no shorter one", pod: pod(ending(time.Second, time.Second)), policy: before(2 * time.Second), want: "Terminating"},

		{reason: "a lead time is not kept", pod: pod(), policy: before(time.Hour, func(p *Policy) { p.CordonLead = time.Minute }), want: "evict"},
		{reason: "when the deadline is over, nothing is left to save", pod: pod(), policy: before(0), want: "DeadlinePassed"},
		{reason: "nor is an end waited for", pod: pod(ending(time.Hour, time.Hour)), policy: before(-time.Second, forcesLate), want: "DeadlinePassed"},
		{reason: "what had ended was not lost", pod: pod(finished), policy: before(0), want: "Finished"},
		{reason: "a DaemonSet's pod is none that is lost", pod: pod(ownedBy("DaemonSet")), policy: before(0), want: "DaemonSetPod"},
	}
	for _, c := range tests {
		t.Run(c.reason, func(t *testing.T) {
			attempts := Attempts{}
			if c.attempt != nil {
				attempts[c.pod.UID] = *c.attempt
			}
			d := decide(now, []corev1.Pod{c.pod}, []policyv1.PodDisruptionBudget{budget("pdb")}, attempts, c.policy)
			what, target := verdict(t, d)
			var grace time.Duration
			if target != nil {
				grace = ptr.Deref(target.Grace, 0)
			}
			if what != c.want || grace != c.grace {
				t.Errorf("%s with %v, want %s with %v", what, grace, c.want, c.grace)
			}
		})
	}
}

// No pod waits for another: neither for an order, nor for volumes. Until the deadline is over the drain waits
// for volumes.
func TestDeadlineAsksAllAtOnce(t *testing.T) {
	var f Facts
	f.Node = theNode()
	for _, name := range []string{"one", "three", "two"} {
		f.Pods = append(f.Pods, namedPod(name, withOrder(map[string]string{"one": "1", "two": "2", "three": "3"}[name]), claims(name)))
		f.Volumes = append(f.Volumes, volume(name))
	}
	slow := Policy{VolumesOneByOne: true, CordonLead: time.Minute}
	if got, want := told(Decide(now, f, Memory{}, slow)), "one CordonLead, three CordonLead, two CordonLead"; got != want {
		t.Errorf("without a deadline %s, want %s", got, want)
	}
	slow.Deadline = now.Add(2 * time.Minute)
	if got, want := told(Decide(now, f, Memory{}, slow)), "evict one, evict three, evict two"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	behind := Facts{Node: f.Node, Volumes: f.Volumes[:1], Attachments: []storagev1.VolumeAttachment{attachment("one", f.Node.Name)}}
	m := Memory{Begun: now, Passages: passages(left("one", 0, 0))}
	if d := Decide(now, behind, m, slow); !d.OnlyVolumes() {
		t.Errorf("a volume is attached: %+v", d)
	}
	if d := Decide(slow.Deadline, behind, m, slow); !d.Done {
		t.Errorf("the instance is gone, and the volume is waited for: %+v", d)
	}
}

// The message says when the instance ends, and what is lost with it.
func TestDeadlineIsSaid(t *testing.T) {
	pods := []corev1.Pod{namedPod("a"), namedPod("b"), namedPod("c", mirror)}
	d := decide(now, pods, nil, Attempts{}, before(2*time.Minute))
	if want := "; the instance is terminated at 2026-03-01T12:02:00Z"; !strings.HasSuffix(d.Message, want) {
		t.Errorf("%q does not end with %q", d.Message, want)
	}
	if n := d.Abandoned(); n != 0 {
		t.Errorf("%d pods are given up two minutes before", n)
	}
	if d = decide(now, pods, nil, Attempts{}, before(0)); d.Abandoned() != 2 || !d.Done {
		t.Errorf("done: %v, %d of 2 pods lost", d.Done, d.Abandoned())
	}
	endless := []policyv1.PodDisruptionBudget{budget("pdb", func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0)) })}
	for late, want := range map[bool]bool{false: true, true: false} {
		p := before(time.Minute)
		p.ForceLate = late
		if o := Foresee(Facts{Pods: pods[:1], Budgets: endless}, p); len(o) != 1 || o[0].Endless != want {
			t.Errorf("forced late %v: %+v, endless %v", late, o, want)
		}
	}
}

// The next decision is at the moment at which the next action is due, not a pause later.
func TestDeadlineIsLookedAt(t *testing.T) {
	blocked := Attempts{"uid-a": {At: now, Evicted: true, Refusals: 1, Since: now}}
	for left, want := range map[time.Duration]time.Duration{time.Minute: pollMost, 17 * time.Second: 2 * time.Second, 15 * time.Second: pollLeast, 1 * time.Second: pollLeast, 100 * time.Millisecond: 100 * time.Millisecond} {
		if d := decide(now, []corev1.Pod{pod()}, nil, blocked, before(left, forcesLate)); d.Next != want {
			t.Errorf("%v before the deadline again after %v, want %v", left, d.Next, want)
		}
	}
	if d := decide(now, []corev1.Pod{pod()}, nil, blocked, before(3*time.Second)); d.Next != 3*time.Second {
		t.Errorf("at the deadline after %v, want 3s", d.Next)
	}
}

// The removal of an attachment is requested, and the drain does not wait for it.
func TestDeadlineDetachesWithoutWaiting(t *testing.T) {
	f := Facts{Node: theNode(), Attachments: []storagev1.VolumeAttachment{attachment("a", theNode().Name)}}
	p := before(0)
	p.Force, p.NodeUnreachable, p.RemoveAttachments = true, true, true
	if d := Decide(now, f, Memory{Begun: now}, p); len(d.Detach) != 1 {
		t.Errorf("%+v", d)
	}
	m := Memory{Begun: now, Attempts: Attempts{f.Attachments[0].UID: {At: now, Reply: "no", Since: now}}}
	if d := Decide(now, f, m, p); !d.Done {
		t.Errorf("%+v", d)
	}
}

// TestDeadlineProperties: for any pods and any earlier requests.
func TestDeadlineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods, p := anyPods(t), anyPolicy(t)
		left := seconds(t, "deadline", -30, 180)
		p.Deadline, p.ForceLate = now.Add(left), rapid.Bool().Draw(t, "forceLate")
		p.CordonLead, p.VolumesOneByOne = seconds(t, "lead", 0, 60), rapid.Bool().Draw(t, "serial")
		attempts := anyAttempts(t, pods)
		for uid, a := range attempts {
			a.Evicted = rapid.Bool().Draw(t, "evicted")
			attempts[uid] = a
		}
		d := Decide(now, Facts{Node: theNode(), Pods: pods}, Memory{Begun: now, Attempts: attempts}, p)
		if left <= 0 {
			if !d.Done {
				t.Fatalf("the deadline is over, and something is waited for: %+v", d)
			}
			return
		}
		if d.Abandoned() > 0 || d.Next > left {
			t.Fatalf("%d pods given up, next look in %v, %v before the deadline", d.Abandoned(), d.Next, left)
		}
		late := p.ForceLate && left <= DeadlineMargin
		if p.ForceLate && !p.Force && left > DeadlineMargin && d.Next > left-DeadlineMargin {
			t.Fatalf("the next look is in %v, behind the margin", d.Next)
		}
		for _, x := range slices.Concat(d.Evict, d.Delete) {
			pod := pods[slices.IndexFunc(pods, func(c corev1.Pod) bool { return c.UID == x.UID })]
			grace := input{pod: &pod, policy: p}.ownGrace()
			if x.Grace != nil && *x.Grace > grace && pod.DeletionTimestamp == nil && !p.NodeUnreachable {
				t.Fatalf("%v is more than the pod's own %v", *x.Grace, grace)
			}
			if end := min(grace, ptr.Deref(x.Grace, grace)); end > max(left-2*time.Second, time.Second) {
				t.Fatalf("pod %s ends in %v, the instance in %v", x.Pod, end, left)
			}
		}
		for _, x := range d.Delete {
			pod := pods[slices.IndexFunc(pods, func(c corev1.Pod) bool { return c.UID == x.UID })]
			ended := p.DeleteFinished && (input{pod: &pod}).finished()
			if !p.Force && !late && pod.DeletionTimestamp == nil && !ended {
				t.Fatalf("pod %s is deleted without its budget being asked, %v before the deadline, forced late: %v", x.Pod, left, p.ForceLate)
			}
		}
		for _, b := range slices.Concat(d.Waiting, d.Blocked) {
			if b.Reason == ReasonTurn || b.Reason == ReasonLead {
				t.Fatalf("pod %s waits for %s", b.Pod, b.Reason)
			}
		}
	})
}
