package dialect

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestStoppedUntilItIsSeen: a process that has just started, and is not sure yet that an
// instance is missing, does not say that it runs again.
func TestStoppedUntilItIsSeen(t *testing.T) {
	const id = "sim:///i-1"
	runs := []provider.Instance{{ID: "i-1", UID: "u", ProviderID: id, State: provider.Running}}
	for _, tt := range []struct {
		reason, was string
		instances   []provider.Instance
		quiet       time.Duration
		want        string
	}{
		{"it was missing, and nobody can tell yet", missing, nil, time.Second, missing},
		{"it ran, and nobody can tell yet", "", nil, time.Second, ""},
		{"it is missing", "", nil, time.Minute, missing},
		{"it was missing, and is there", missing, runs, 0, ""},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			m := &corev1.Node{}
			SetAnnotation(m, StoppedAnnotation, tt.was)
			w := lifecycle.World{Instances: lifecycle.Instances{Looked: true, Own: tt.instances}, Unlisted: lifecycle.Unlisted{For: 10*time.Second - tt.quiet}}
			v := lifecycle.Machine{UID: "u", Recorded: lifecycle.Recorded{ProviderID: id, Provisioned: true}, Stage: lifecycle.StageLost}
			RecordStopped(m, lifecycle.Outcome{World: w}, v)
			if got := m.Annotations[StoppedAnnotation]; got != tt.want {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
