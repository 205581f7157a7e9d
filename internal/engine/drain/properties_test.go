package drain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// anyPod draws a pod of any kind and age.
func anyPod(t *rapid.T, i int) corev1.Pod {
	p := pod(func(p *corev1.Pod) {
		p.Name = fmt.Sprintf("p%d", i)
		p.UID = types.UID(p.Name)
	})
	ownedBy(rapid.SampledFrom([]string{"DaemonSet", "ReplicaSet", "Job"}).Draw(t, "owner"))(&p)
	if rapid.Bool().Draw(t, "unmanaged") {
		p.OwnerReferences = nil
	}
	if rapid.Bool().Draw(t, "mirror") {
		mirror(&p)
	}
	p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed, ""}).Draw(t, "phase")
	if rapid.Bool().Draw(t, "ending") {
		ending(seconds(t, "grace", 0, 3600), seconds(t, "left", -3600, 3600))(&p)
	}
	if rapid.Bool().Draw(t, "ownGrace") {
		p.Spec.TerminationGracePeriodSeconds = ptr.To(rapid.Int64Range(0, 3600).Draw(t, "graceSeconds"))
	}
	return p
}

func seconds(t *rapid.T, label string, least, most int) time.Duration {
	return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Second
}

func anyPolicy(t *rapid.T) Policy {
	p := Policy{
		Force:                rapid.Bool().Draw(t, "force"),
		ForceGracePeriod:     seconds(t, "forceGrace", 0, 60),
		RetryEvery:           seconds(t, "retryEvery", 0, 30),
		MaxEvictAttempts:     rapid.IntRange(0, 3).Draw(t, "maxAttempts"),
		DeleteFinished:       rapid.Bool().Draw(t, "deleteFinished"),
		SkipTerminatingAfter: seconds(t, "skip", 0, 600),
		NodeUnreachable:      rapid.Bool().Draw(t, "unreachable"),
	}
	if rapid.Bool().Draw(t, "override") {
		p.GracePeriod = ptr.To(seconds(t, "graceOverride", 0, 600))
	}
	return p
}

func anyPods(t *rapid.T) []corev1.Pod {
	pods := make([]corev1.Pod, rapid.IntRange(0, 6).Draw(t, "pods"))
	for i := range pods {
		pods[i] = anyPod(t, i)
	}
	return pods
}

func anyAttempts(t *rapid.T, pods []corev1.Pod) Attempts {
	out := Attempts{}
	for _, p := range pods {
		if rapid.Bool().Draw(t, "attempted") {
			out[p.UID] = Attempt{
				At: now.Add(-seconds(t, "ago", 0, 60)), Accepted: rapid.Bool().Draw(t, "accepted"),
				Gone: rapid.Bool().Draw(t, "gone"), Refusals: rapid.IntRange(0, 5).Draw(t, "refusals"),
			}
		}
	}
	return out
}

func TestEveryPodIsFiledOnceAndIgnoredPodsAreLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods, policy := anyPods(t), anyPolicy(t)
		d := decide(now, pods, []policyv1.PodDisruptionBudget{budget("pdb")}, anyAttempts(t, pods), policy)
		filed := map[string]int{}
		for _, x := range slices.Concat(d.Evict, d.Delete) {
			filed[x.Pod.Name]++
		}
		left := len(filed)
		for _, x := range slices.Concat(d.Waiting, d.Blocked) {
			filed[x.Pod.Name]++
			left++
		}
		for _, x := range d.Ignored {
			filed[x.Pod.Name]++
		}
		for _, p := range pods {
			if filed[p.Name] != 1 {
				t.Fatalf("pod %s is filed %d times: %+v", p.Name, filed[p.Name], d)
			}
			stays := p.Annotations[corev1.MirrorPodAnnotationKey] != "" || len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "DaemonSet"
			if asked := slices.ContainsFunc(slices.Concat(d.Evict, d.Delete), func(x Target) bool { return x.UID == p.UID }); asked && stays {
				t.Fatalf("pod %s would come back and is asked to leave: %+v", p.Name, d)
			}
		}
		if d.Done != (left == 0) || d.Done != (d.Next == 0) || d.Done != (d.Message == "") {
			t.Fatalf("done=%v with %d pods left, next %v, message %q", d.Done, left, d.Next, d.Message)
		}
	})
}

func TestOrderOfPodsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods, policy := anyPods(t), anyPolicy(t)
		attempts := anyAttempts(t, pods)
		a := decide(now, pods, nil, attempts, policy)
		b := decide(now, rapid.Permutation(pods).Draw(t, "order"), nil, attempts, policy)
		if a.Message != b.Message || a.Next != b.Next || fmt.Sprint(a.Ignored, a.Waiting) != fmt.Sprint(b.Ignored, b.Waiting) {
			t.Fatalf("\n%+v\n%+v", a, b)
		}
	})
}

// A whole drain against a server that refuses, accepts and forgets at random: no pod is evicted twice within
// RetryEvery, a budget that may not be overruled never is, and once the server accepts all evictions the
// drain ends.
func TestDrainIsPacedAndEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := anyPolicy(t)
		policy.SkipTerminatingAfter = 0
		world := anyPods(t)
		attempts := Attempts{}
		asked := map[types.UID]time.Time{}
		patience := rapid.IntRange(0, 40).Draw(t, "refusing")
		at := now.Add(2 * time.Hour) // every pod that was ending has had its time
		for step := 0; ; step++ {
			d := decide(at, world, nil, attempts, policy)
			if d.Done {
				return
			}
			if step > 400 {
				t.Fatalf("not done after %d looks: %+v", step, d)
			}
			every := policy.RetryEvery
			if every == 0 {
				every = DefaultRetryEvery
			}
			for _, x := range slices.Concat(d.Evict, d.Delete) {
				if last, ok := asked[x.UID]; ok && at.Sub(last) < every {
					t.Fatalf("pod %s was asked twice within %v", x.Pod, at.Sub(last))
				}
				asked[x.UID] = at
				a := attempts[x.UID]
				a.At = at
				evicting := slices.ContainsFunc(d.Evict, func(e Target) bool { return e.UID == x.UID })
				if a.Accepted = !evicting || step >= patience; !a.Accepted {
					a.Refusals++
				}
				attempts[x.UID] = a
			}
			for _, x := range d.Delete {
				overruled := policy.MaxEvictAttempts > 0 && attempts[x.UID].Refusals >= policy.MaxEvictAttempts
				done := policy.DeleteFinished && slices.ContainsFunc(world, func(p corev1.Pod) bool {
					return p.UID == x.UID && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
				})
				if !policy.Force && !overruled && !done {
					t.Fatalf("pod %s is deleted past its budget", x.Pod)
				}
			}
			at = at.Add(d.Next)
			world = slices.DeleteFunc(world, func(p corev1.Pod) bool {
				return attempts[p.UID].Accepted || p.DeletionTimestamp != nil && step > 3
			})
		}
	})
}
