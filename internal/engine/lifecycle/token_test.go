package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestDropToken: when a bootstrap token is deleted.
func TestDropToken(t *testing.T) {
	well := node(corev1.ConditionTrue)
	joined := func(m *lifecycle.Machine) { m.Recorded.NodeName, m.Recorded.NodeUID = well.Name, well.UID }
	made, unknown := lifecycle.Token{State: lifecycle.TokenMade}, lifecycle.Token{State: lifecycle.TokenUnknown, Lifetime: time.Hour}
	born := func(ago time.Duration) machineEdit {
		return func(m *lifecycle.Machine) { m.Created = now.Add(-ago) }
	}
	over := func(w *lifecycle.World) { w.Final = &lifecycle.Decision{Step: lifecycle.RemoveFinalizer} }
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		token  lifecycle.Token
		want   bool
	}{
		{"the node has joined", machine(stage(running, 0), joined), world(runningOn(well)), made, true},
		{"nobody made one", machine(stage(running, 0), joined), world(runningOn(well)), lifecycle.Token{}, false},
		{"its node has not joined", machine(stage(lifecycle.StageJoining, 0)), world(runningOn(nil)), made, false},
		{"an earlier process may have made one that is good yet", machine(stage(running, 0), joined, born(119*time.Minute)), world(runningOn(well)), unknown, true},
		{"it has run for long", machine(stage(running, 0), joined, born(2*time.Hour)), world(runningOn(well)), unknown, false},
		{"released, however old", leaving(born(200 * time.Hour)), world(over), unknown, true},
		{"on its way out, its instance may still join", leaving(), world(runningOn(well)), made, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := facts{m: c.m, w: c.w, p: brisk}
			f.w.Token = c.token
			if got := f.decide().Step == lifecycle.DropToken; got != c.want {
				t.Errorf("%s: dropped %v", c.reason, got)
			}
		})
	}
}

// TestTokenIsTriedAgain: a token that could not be deleted is not tried again in the same pass, and schedules
// another one.
func TestTokenIsTriedAgain(t *testing.T) {
	f := facts{m: machine(stage(running, time.Hour)), w: world(runningOn(node(corev1.ConditionTrue))), p: brisk}
	f.w.Token = lifecycle.Token{Again: 3 * time.Second}
	steps, last := f.walk(t, "")
	if slices.Contains(steps, lifecycle.DropToken) || last.After != 3*time.Second {
		t.Errorf("%q, and asked again in %v", steps, last.After)
	}
}
