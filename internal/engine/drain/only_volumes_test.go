package drain

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestOnlyVolumes(t *testing.T) {
	pod := Blocker{Pod: types.NamespacedName{Namespace: "db", Name: "db-0"}}
	volume := Blocker{Pod: pod.Pod, Volume: "pv-1"}
	for _, c := range []struct {
		reason string
		d      Decision
		want   bool
	}{
		{"nothing is left", Decision{Done: true}, false},
		{"a volume is waited for", Decision{Waiting: []Blocker{volume}}, true},
		{"a volume is stuck", Decision{Blocked: []Blocker{volume}}, true},
		{"a detachment is asked for", Decision{Detach: []Attached{{Name: "a"}}}, true},
		{"a pod is waited for besides", Decision{Waiting: []Blocker{volume, pod}}, false},
		{"a pod is blocked besides", Decision{Waiting: []Blocker{volume}, Blocked: []Blocker{pod}}, false},
		{"a pod is asked to leave", Decision{Waiting: []Blocker{volume}, Evict: []Target{{}}}, false},
		{"a pod is deleted", Decision{Waiting: []Blocker{volume}, Delete: []Target{{}}}, false},
		{"the node could not be cordoned, and nothing was looked at", Decision{Message: "another node's turn", Next: time.Second}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := c.d.OnlyVolumes(); got != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
}
