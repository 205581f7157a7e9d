package bench

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// TestRestarted: the result is the time of the creation call for the successor, and the number of all writes of the controllers.
func TestRestarted(t *testing.T) {
	at := func(seconds int, program, verb, resource string) write {
		asked := time.Unix(int64(seconds), 0)
		return write{Asked: asked, Done: asked, Verb: verb, Agent: program + "/v1", Resource: resource, Code: 201}
	}
	writes := []write{
		at(1, agent, "delete", "machines"), at(3, fleet.Sets, "create", "machines"), at(4, fleet.Machines, "patch", "machines/status"),
		at(5, fleet.Machines, "create", "nodes"), at(6, fleet.Machines, "create", "nodes"), at(7, fleet.Machines, "patch", "machines/status"),
	}
	got, err := restarted(writes, time.Unix(2, 0))
	if err != nil || got.Seconds != 3 || got.Writes == 0 {
		t.Errorf("%+v, %v, want 3 seconds", got, err)
	}
	if _, err := restarted(writes[:3], time.Unix(2, 0)); err == nil {
		t.Error("a successor that was not asked for counts")
	}
}
