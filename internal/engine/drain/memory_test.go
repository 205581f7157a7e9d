package drain

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMemoryIsAValue: adding to a memory, or forgetting, does not change earlier copies.
func TestMemoryIsAValue(t *testing.T) {
	held := Memory{Begun: now, Attempts: Attempts{"uid-a": {At: now, Gone: true}, "uid-b": {At: now, Refusals: 1}, "va-1": {At: now}}}
	before := maps.Clone(held.Attempts)
	attached := Facts{Pods: []corev1.Pod{namedPod("b")}, Attachments: []storagev1.VolumeAttachment{{ObjectMeta: metav1.ObjectMeta{UID: "va-1"}}}}
	for _, c := range []struct {
		reason string
		got    Memory
		want   Attempts
	}{
		{"a request is noted", held.After(Attempts{"uid-b": {At: now, Refusals: 2}}), Attempts{"uid-a": before["uid-a"], "uid-b": {At: now, Refusals: 2}, "va-1": before["va-1"]}},
		{"the first request", Memory{Begun: now}.After(Attempts{"uid-b": {At: now}}), Attempts{"uid-b": {At: now}}},
		{"what is not there is forgotten", held.Of(attached), Attempts{"uid-b": before["uid-b"], "va-1": before["va-1"]}},
		{"a live list tells itself what is gone", held.Doubting(), Attempts{"uid-b": before["uid-b"], "va-1": before["va-1"]}},
	} {
		if !maps.Equal(c.got.Attempts, c.want) || !c.got.Begun.Equal(now) {
			t.Errorf("%s: %+v since %v", c.reason, c.got.Attempts, c.got.Begun)
		}
		if !maps.Equal(held.Attempts, before) {
			t.Fatalf("%s: the one before says %+v by now", c.reason, held.Attempts)
		}
	}
}
