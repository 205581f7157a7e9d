package health

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// TestRestricts: users are informed that nothing is remediated only if a machine needs it: not while machines
// only start, and not because of a remediated machine and its replacement. Which machines may be remediated
// does not depend on it.
func TestRestricts(t *testing.T) {
	const old, young = time.Hour, time.Minute
	machine := func(name string, s State, age time.Duration) *Judged {
		return &Judged{Target: Target{UID: types.UID(name), Name: name, Created: t0.Add(-age)}, Verdict: Verdict{State: s}}
	}
	for _, c := range []struct {
		reason             string
		machines           []*Judged
		allowed, restricts bool
	}{
		{"nothing is there", nil, true, false},
		{"a pool starts", []*Judged{machine("a", Starting, young), machine("b", Starting, young)}, false, false},
		{"their nodes are there, and not ready yet", []*Judged{machine("a", Suspect, young), machine("b", Starting, young)}, false, false},
		{"more nodes than may be are not ready", []*Judged{machine("a", Suspect, young), machine("b", Suspect, young)}, false, true},
		{"one was remedied, and another takes its place", []*Judged{machine("a", Leaving, old), machine("b", Starting, young), machine("c", Healthy, old)}, false, false},
		{"and a third ails", []*Judged{machine("a", Leaving, old), machine("b", Starting, young), machine("c", Suspect, old)}, false, true},
		{"one did not start in time", []*Judged{machine("a", Unhealthy, old), machine("b", Starting, young)}, false, true},
		{"two nodes are gone", []*Judged{machine("a", Lost, old), machine("b", Lost, old)}, false, true},
		{"as many as may be", []*Judged{machine("a", Unhealthy, old), machine("b", Healthy, old)}, true, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			check := readyCheck(mode(Off), limit("1"))
			check.StartupTimeout = 10 * time.Minute
			p := Decide(t0, Cohort{Check: check, Machines: c.machines}, Connectivity{}, Memory{})
			if p.Allowed != c.allowed || p.Restricts != c.restricts {
				t.Errorf("%s: allowed %v, restricts %v", c.reason, p.Allowed, p.Restricts)
			}
		})
	}
	check := readyCheck(mode(Off), limit("1"))
	check.Faults = append(check.Faults, lifecycle.Fault{Field: MaxUnhealthyField})
	if p := Decide(t0, Cohort{Check: check}, Connectivity{}, Memory{}); p.Allowed || !p.Restricts {
		t.Errorf("a limit that cannot be read: %+v", p)
	}
}
