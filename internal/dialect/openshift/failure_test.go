package openshift

import (
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/internal/dialect/dialecttest"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestFailureInWords: the texts that clients wait for, of the facts that decisions carry.
func TestFailureInWords(t *testing.T) {
	foreign := lifecycle.Args{Missing: true, Detail: "instance i-1, which is recorded, belongs to a/b"}
	full := errors.New("no capacity in zone a")
	for name, tc := range map[string]struct {
		reason string
		why    lifecycle.Decision
		want   string
	}{
		"gone":              {"these words", lifecycle.Decision{Reason: lifecycle.ReasonMissing, Args: lifecycle.Args{Missing: true}}, "can't find created instance"},
		"another machine's": {"and why", lifecycle.Decision{Reason: lifecycle.ReasonMissing, Args: foreign}, "can't find created instance: instance i-1, which is recorded, belongs to a/b"},
		"given up, nothing left": {
			"and the cause",
			lifecycle.Decision{Reason: lifecycle.ReasonGivenUp, Args: lifecycle.Args{Missing: true}, Err: full},
			"can't find created instance: no capacity in zone a",
		},
		"given up, another's": {
			"both",
			lifecycle.Decision{Reason: lifecycle.ReasonGivenUp, Args: foreign, Err: full},
			"can't find created instance: instance i-1, which is recorded, belongs to a/b: no capacity in zone a",
		},
		"given up, and there": {"it can be found", lifecycle.Decision{Reason: lifecycle.ReasonGivenUp, Err: full}, "in the engine's words"},
		"not healthy for too long": {
			"in the words that clients of either API know",
			lifecycle.Decision{Reason: lifecycle.ReasonHealthTimeout, Args: lifecycle.Args{Conditions: "[Ready=False]", Timeout: 10 * time.Minute}},
			"Machine m-1 health checks failing since last 10 minutes. Updating machine phase to Failed. Node Conditions: [Ready=False]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machinev1.Machine{}
			m.Name = "m-1"
			tc.why.Step, tc.why.Stage, tc.why.Message = lifecycle.Fail, lifecycle.StageFailed, "in the engine's words"
			end := tc.why
			end.Step = lifecycle.Settled
			Machines{}.Record(m, lifecycle.Outcome{Decision: end, Steps: []lifecycle.Decision{tc.why}, World: dialecttest.World(nil, nil), At: dialecttest.Now})
			if got := ptr.Deref(m.Status.ErrorMessage, ""); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
