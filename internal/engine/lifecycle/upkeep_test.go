package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/drain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestUpkeepHasItsTurn: a running instance gets its upkeep, for any wait of the machine, and never during the
// machine's deletion.
func TestUpkeepHasItsTurn(t *testing.T) {
	failed := errors.New("denied")
	for reason, tc := range map[string]struct {
		state  provider.State
		upkeep lifecycle.Upkeep
		change func(*lifecycle.Machine, *lifecycle.World)
		want   bool
	}{
		"it was never looked after":       {provider.Running, lifecycle.Upkeep{Due: true}, nil, true},
		"nothing differs":                 {provider.Running, lifecycle.Upkeep{}, nil, false},
		"it was just looked after":        {provider.Running, lifecycle.Upkeep{Due: true, At: now.Add(-9 * time.Minute)}, nil, false},
		"it was looked after long ago":    {provider.Running, lifecycle.Upkeep{Due: true, At: now.Add(-10 * time.Minute)}, nil, true},
		"what failed is tried again soon": {provider.Running, lifecycle.Upkeep{Due: true, At: now.Add(-time.Minute), Err: failed}, nil, true},
		"and not at once":                 {provider.Running, lifecycle.Upkeep{Due: true, At: now.Add(-59 * time.Second), Err: failed}, nil, false},
		"it does not run yet":             {provider.Pending, lifecycle.Upkeep{Due: true}, nil, false},
		"it was stopped":                  {provider.Stopped, lifecycle.Upkeep{Due: true}, nil, false},
		"no node has joined":              {provider.Running, lifecycle.Upkeep{Due: true}, func(_ *lifecycle.Machine, w *lifecycle.World) { w.Node.Object = nil }, true},
		"the machine was given up":        {provider.Running, lifecycle.Upkeep{Due: true}, func(m *lifecycle.Machine, _ *lifecycle.World) { m.Stage = lifecycle.StageFailed }, false},
		"the machine is on its way out": {provider.Running, lifecycle.Upkeep{Due: true}, func(m *lifecycle.Machine, w *lifecycle.World) {
			m.Deleted, w.Drain.Result = now, &drain.Decision{Message: "1 pod has to leave"}
		}, false},
		"a step of its life comes first":    {provider.Running, lifecycle.Upkeep{Due: true}, func(_ *lifecycle.Machine, w *lifecycle.World) { w.Node.Stale = true }, false},
		"its instance is not the machine's": {provider.Running, lifecycle.Upkeep{Due: true}, func(_ *lifecycle.Machine, w *lifecycle.World) { w.Instances.Own = nil }, false},
	} {
		t.Run(reason, func(t *testing.T) {
			m, w := machine(stage(lifecycle.StageRunning, time.Hour)), world(runningOn(node(corev1.ConditionTrue)), having(instance(tc.state)))
			w.Upkeep = tc.upkeep
			if tc.change != nil {
				tc.change(&m, &w)
			}
			if d := lifecycle.Decide(now, m, w, patient); (d.Step == lifecycle.Maintain) != tc.want {
				t.Errorf("%s: %s", reason, d.Step)
			}
		})
	}
}
