package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/engine/drain"
)

// TestForceWaitsByItsOwnClock: a pod was evicted just before with a grace period of 30 s, by an API server
// whose clock is a minute behind. A process that takes over, and one that continues, leave it its time.
func TestForceWaitsByItsOwnClock(t *testing.T) {
	n, pod := node("w1"), podOn("w1", "web-0")
	pod.Finalizers = []string{"example.com/slow"}
	pod.DeletionTimestamp = &metav1.Time{Time: start.Add(-30 * time.Second)}
	pod.DeletionGracePeriodSeconds = ptr.To(int64(30))
	w := newWorld(t, interceptor.Funcs{}, n, pod)
	for _, tt := range []struct {
		after   time.Duration
		restart bool
		done    bool
	}{
		{after: 0},
		{after: 29 * time.Second},
		{after: 29 * time.Second, restart: true},
		{after: 58 * time.Second},
		{after: 59 * time.Second, done: true},
	} {
		if tt.restart {
			w.Cluster = New(w.Client, w.Live, w.clock)
		}
		w.clock.SetTime(start.Add(tt.after))
		d, err := w.Drain(t.Context(), n, drain.Policy{Force: true})
		if err != nil || d.Done != tt.done {
			t.Errorf("after %v: done %v, %v, want %v: %s", tt.after, d.Done, err, tt.done, d.Message)
		}
	}
	if err := w.Live.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{}); err != nil {
		t.Errorf("the pod was to be there: %v", err)
	}
}
