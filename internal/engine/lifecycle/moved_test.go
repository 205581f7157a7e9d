package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestMoved: the controller leaves a machine alone whose instance was moved. Its deletion removes only the object, after the other
// machine was seen with the instance.
func TestMoved(t *testing.T) {
	busy := world(runningOn(node(corev1.ConditionTrue)))
	has := func(s lifecycle.Successor) lifecycle.World {
		w := busy
		w.Successor = s
		return w
	}
	to := func(m *lifecycle.Machine) { m.MovedTo = "machine.sapcloud.io/shoot/m" }
	failed := func(m *lifecycle.Machine) { m.Stage = lifecycle.StageFailed }
	forced := func(m *lifecycle.Machine) { m.Deletion.Force = true }
	for _, c := range []struct {
		reason string
		m      lifecycle.Machine
		w      lifecycle.World
		step   lifecycle.Step
		asks   lifecycle.Question
	}{
		{"it runs", machine(to), busy, lifecycle.Settled, ""},
		{"its node does not exist", machine(to), world(), lifecycle.Settled, ""},
		{"it has failed", machine(to, failed), busy, lifecycle.Settled, ""},
		{"under deletion, the other machine was not read", leaving(to), busy, lifecycle.Await, lifecycle.QuestionSuccessor},
		{"forced, too", leaving(to, forced), busy, lifecycle.Await, lifecycle.QuestionSuccessor},
		{"the other machine does not exist, or has another instance", leaving(to), has(lifecycle.Successor{Looked: true}), lifecycle.Await, lifecycle.QuestionSuccessor},
		{"the other machine cannot be read", leaving(to), has(lifecycle.Successor{Looked: true, Err: errors.New("forbidden")}), lifecycle.Await, lifecycle.QuestionSuccessor},
		{"the other machine has the instance", leaving(to), has(lifecycle.Successor{Looked: true, Records: true}), lifecycle.RemoveFinalizer, lifecycle.QuestionSuccessor},
		{"without the mark the instance is drained", leaving(), has(lifecycle.Successor{Looked: true, Records: true}), lifecycle.Drain, ""},
	} {
		d := lifecycle.Decide(now, c.m, c.w, brisk)
		if d.Step != c.step || d.Needs(c.m) != c.asks {
			t.Errorf("%s: %s (%s), asks %q; want %s, asks %q", c.reason, d.Step, d.Reason, d.Needs(c.m), c.step, c.asks)
		}
		if d.Step == lifecycle.Await && d.After < time.Second {
			t.Errorf("%s: looks again after %s", c.reason, d.After)
		}
	}
}
