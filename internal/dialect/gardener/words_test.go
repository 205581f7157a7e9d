package gardener

import (
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestUnhealthyInWords: the texts of sections 2.4 and 2.5 that clients match on, of the facts that decisions carry.
func TestUnhealthyInWords(t *testing.T) {
	lost := func(r lifecycle.Reason, args lifecycle.Args) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Await, Reason: r, Stage: lifecycle.StageLost, Message: "in the engine's words", Args: args}
	}
	failed := func(r lifecycle.Reason, args lifecycle.Args, err error) lifecycle.Decision {
		return lifecycle.Decision{Step: lifecycle.Fail, Reason: r, Stage: lifecycle.StageFailed, Message: "in the engine's words", Args: args, Err: err}
	}
	ready := lifecycle.Args{Conditions: "[Ready=Unknown]", Timeout: 90 * time.Second}
	detailed := ready
	detailed.Detail = "no space left"
	for name, tc := range map[string]struct {
		reason string
		why    lifecycle.Decision
		taken  string
		want   string
	}{
		"not healthy": {
			"2.4.2", lost(lifecycle.ReasonNodeUnhealthy, ready), "",
			"Machine m-1 is unhealthy - changing MachinePhase to Unknown. Node conditions: [Ready=Unknown]",
		},
		"node gone": {
			"2.4.1", lost(lifecycle.ReasonNodeMissing, lifecycle.Args{}), "",
			"Node object went missing. Machine m-1 is unhealthy - changing MachinePhase to Unknown",
		},
		"node of another": {
			"it says whose the node is, and ends in the same words", lost(lifecycle.ReasonNodeMissing, lifecycle.Args{}), "machine a/b",
			"Node node-1 is that of machine a/b, and the machine's own instance does not exist. Machine m-1 is unhealthy - changing MachinePhase to Unknown; " +
				"the infrastructure does not know its instance any more",
		},
		"node of another, and an instance": {
			"its own instance is there", lost(lifecycle.ReasonNodeMissing, lifecycle.Args{}), "instance cloud:///i-9",
			"Node node-1 is that of instance cloud:///i-9. Machine m-1 is unhealthy - changing MachinePhase to Unknown",
		},
		"for too long": {
			"2.5", failed(lifecycle.ReasonHealthTimeout, ready, nil), "",
			"Machine m-1 health checks failing since last 1.5 minutes. Updating machine phase to Failed. Node Conditions: [Ready=Unknown]",
		},
		"half updated": {
			"with what the node agent said", failed(lifecycle.ReasonHealthTimeout, detailed, nil), "",
			"Machine m-1 health checks failing since last 1.5 minutes. Updating machine phase to Failed. Node Conditions: [Ready=Unknown]. Its update in place failed: no space left",
		},
		"did not join": {"there are no other words for it", failed(lifecycle.ReasonJoinTimeout, lifecycle.Args{}, nil), "", "in the engine's words"},
		"never created": {
			"an error has its frame", failed(lifecycle.ReasonCreateTimeout, lifecycle.Args{Missing: true}, errors.New("no room")), "",
			"Cloud provider message - machine codes error: code = [Unavailable] message = [no room]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := runningMachine()
			m.Name, m.Labels = "m-1", map[string]string{v1alpha1.LabelKeyNode: "node-1"}
			w := dialecttest.World(dialecttest.Instance(provider.Running), nil)
			if w.Node.Taken = tc.taken; tc.taken == "machine a/b" {
				w.Instances.Own = nil
			}
			o := lifecycle.Outcome{Decision: tc.why, World: w, At: dialecttest.Now}
			if tc.why.Step == lifecycle.Fail {
				o.Steps, o.Step = []lifecycle.Decision{tc.why}, lifecycle.Settled
			}
			Machines{Defaults: StandardDefaults()}.Record(m, o)
			if got := m.Status.LastOperation.Description; got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
