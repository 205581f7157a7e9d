package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/connectivity"
)

// watching is the state of a process that has probed for so long, every ten seconds.
func watching(since time.Duration) connectivity.State {
	s := connectivity.Begin(now.Add(-since), connectivity.Policy{Timeout: 30 * time.Second, Interval: 10 * time.Second}, connectivity.Target)
	for a := since; a >= 0; a -= 10 * time.Second {
		s = s.After(connectivity.Probe{At: now.Add(-a), Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Target: connectivity.Reachable}})
	}
	return s
}

// TestWaitsAreWatched: a timeout counts only the time in which the event would have been observed (C26). Each
// wait is over by the clock.
func TestWaitsAreWatched(t *testing.T) {
	ended := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-time.Hour)} }
	skips := Policy{SkipTerminatingAfter: 5 * time.Minute}
	for _, c := range []struct {
		reason string
		facts  Facts
		memory Memory
		policy Policy
		// over is the decision once the wait is over.
		over func(Decision) bool
	}{
		{
			"a pod that does not end",
			Facts{Pods: []corev1.Pod{namedPod("a", ended)}},
			Memory{},
			skips,
			func(d Decision) bool { return d.Done },
		},
		{
			"a volume that is not detached",
			Facts{Node: theNode(), Volumes: []Volume{volume("a")}, Attachments: []storagev1.VolumeAttachment{attachment("a", "w1")}},
			Memory{Passages: passages(left("a", time.Hour, 0))},
			oneByOne,
			func(d Decision) bool { return len(d.Blocked) == 1 && d.Blocked[0].Reason == ReasonStillAttached },
		},
		{
			"a pod with volumes before another one",
			Facts{
				Node: theNode(), Volumes: []Volume{volume("a"), volume("b")},
				Pods: []corev1.Pod{namedPod("a", claims("a"), ended), namedPod("b", claims("b"))},
			},
			Memory{},
			oneByOne,
			func(d Decision) bool { return len(d.Evict) == 1 },
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			for since, want := range map[time.Duration]bool{2 * time.Hour: true, 10 * time.Second: false} {
				p := c.policy
				p.Connectivity = watching(since)
				if d := Decide(now, c.facts, c.memory, p); c.over(d) != want {
					t.Errorf("%s, watched for %v: over %v, want %v (%s)", c.reason, since, !want, want, d.Message)
				}
			}
		})
	}
}

// TestForceDoesNotWait: the end of a pod's time does not depend on the connection.
func TestForceDoesNotWait(t *testing.T) {
	ending := func(at time.Time) Facts {
		return Facts{Pods: []corev1.Pod{namedPod("a", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: at}, new(int64)
		})}}
	}
	p := Policy{Force: true, Connectivity: watching(0)}
	if d := Decide(now, ending(now.Add(-time.Second)), Memory{}, p); !d.Done {
		t.Errorf("over, and waited for: %s", d.Message)
	}
	if d := Decide(now, ending(now.Add(time.Second)), Memory{}, p); d.Done {
		t.Error("it has a second left")
	}
}
