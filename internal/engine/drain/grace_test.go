package drain

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestForcedPodsHaveTheirTime: the API server decides by its own clock when a pod's grace period ends. A
// process whose clock is ahead still leaves the pod its full grace period.
func TestForcedPodsHaveTheirTime(t *testing.T) {
	const grace, ahead = 30 * time.Second, time.Minute
	asked := func(ago time.Duration) Attempts { return Attempts{"uid-a": {At: now.Add(-ago), Accepted: true}} }
	for _, tt := range []struct {
		reason   string
		given    time.Duration
		attempts Attempts
		// watched is how long the node has been observed.
		watched time.Duration
		policy  Policy
		want    string
	}{
		{"it was asked just now", grace, asked(0), 0, Policy{}, "Terminating"},
		{"a process that had the lead before asked it", grace, nil, 0, Policy{}, "Terminating"},
		{"it has been seen to end for a part of its time", grace, nil, 29 * time.Second, Policy{}, "Terminating"},
		{"for all of it", grace, nil, 30 * time.Second, Policy{}, "TerminatingTooLong"},
		{"it was hurried in the meantime, and has not had that time yet", grace, asked(10 * time.Second), time.Hour, Policy{}, "Terminating"},
		{"it has", grace, asked(30 * time.Second), time.Hour, Policy{}, "TerminatingTooLong"},
		{"a refusal is no beginning", grace, Attempts{"uid-a": {At: now}}, time.Hour, Policy{}, "TerminatingTooLong"},
		{"it was given none", 0, nil, 0, Policy{}, "TerminatingTooLong"},
		{"the instance is taken away", grace, asked(0), 0, Policy{Deadline: now}, "DeadlinePassed"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			p := pod(ending(tt.given, tt.given-ahead))
			f := Facts{Pods: []corev1.Pod{p}}
			tt.policy.Force = true
			m := Memory{Attempts: tt.attempts}.Seen(now.Add(-tt.watched), f, tt.policy)
			if got, _ := verdict(t, Decide(now, f, m, tt.policy)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
