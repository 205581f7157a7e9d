package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// done is a write that was answered ms after noon.
func done(ms int, program, verb, resource, name string) write {
	return write{Asked: at(ms - 1), Done: at(ms), Verb: verb, Agent: program + "/v0", Resource: resource, Name: name, Code: 200}
}

func refused(w write, code int) write {
	w.Code = code
	return w
}

func TestQuantiles(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	cases := []struct {
		reason string
		values []float64
		want   *Latency
	}{
		{"nothing was measured", nil, nil},
		{"one value is all of them", []float64{3}, &Latency{P50: 3, P99: 3}},
		{"of two, the first is the middle by rank", []float64{2, 1}, &Latency{P50: 1, P99: 2}},
		{"of three", []float64{9, 1, 5}, &Latency{P50: 5, P99: 9}},
		{"of a hundred, one may be slower than p99", hundred, &Latency{P50: 50, P99: 99}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, quantiles(c.values)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestBetween(t *testing.T) {
	from := map[string]time.Time{"a": at(0), "b": at(100), "only here": at(0)}
	to := map[string]time.Time{"a": at(250), "b": at(40), "only there": at(0)}
	got := quantiles(between(from, to))
	if diff := cmp.Diff(&Latency{P50: 0, P99: 0.25}, got); diff != "" {
		t.Errorf("b ended before it began, which took no time; the others have no end or beginning (-want +got):\n%s", diff)
	}
	if n := len(between(from, to)); n != 2 {
		t.Errorf("%d times, want those of the two that have both ends", n)
	}
}

func TestFirstAndLastTimes(t *testing.T) {
	writes := []write{
		done(10, fleet.Machines, "patch", "machines/status", "a"),
		done(30, fleet.Machines, "patch", "machines/status", "a"),
		refused(done(90, fleet.Machines, "patch", "machines/status", "a"), 409),
		done(20, fleet.Machines, "patch", "machines/status", "b"),
		done(80, fleet.Sets, "patch", "machines/status", "b"),
	}
	const kind = "patch machines/status"
	if diff := cmp.Diff(map[string]time.Time{"a": at(10), "b": at(20)}, answered(writes, fleet.Machines, kind)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]time.Time{"a": at(30), "b": at(20)}, lastByName(writes, fleet.Machines, kind)); diff != "" {
		t.Errorf("last (-want +got):\n%s", diff)
	}
	if got := lastOf(writes, fleet.Machines, kind); !got.Equal(at(30)) {
		t.Errorf("last of all is %s, want %s", got, at(30))
	}
	if got := lastOf(writes, "kwok", kind); !got.IsZero() {
		t.Errorf("last of a program that wrote nothing is %s", got)
	}
}

func TestCountSortsWrites(t *testing.T) {
	const machines = 2
	cases := []struct {
		reason         string
		write          write
		counted, other string
	}{
		{"the budget means writes of machines", done(1, fleet.Sets, "create", "machines", "m"), "create machines", ""},
		{"and of their nodes", done(1, fleet.Machines, "patch", "nodes", "n"), "patch nodes", ""},
		{"marks of a rollout are told from those", done(1, fleet.Sets, "patch", "nodes", "n"), "patch nodes (marks)", ""},
		{"the Node that stands for an instance is the infrastructure's", done(1, fleet.Machines, "create", "nodes", "n"), "", "create nodes"},
		{"events have a budget of their own", done(1, fleet.Machines, "create", "events", "e"), "", "create events"},
		{"token secrets are needed only where user data asks", done(1, fleet.Machines, "create", "secrets", "s"), "", "create secrets"},
		{"what was refused changed nothing", refused(done(1, fleet.Sets, "patch", "nodes", "n"), 409), "", "patch nodes (409)"},
		{"the node's own joining is not ours", done(1, "kwok", "patch", "nodes/status", "n"), "", ""},
		{"nor are the bench's writes", done(1, "millwright-bench", "patch", "machinesets/scale", "s"), "", ""},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			counted, other := count([]write{c.write, c.write, c.write}, machines)
			for _, side := range []struct {
				got  map[string]float64
				want string
			}{{counted, c.counted}, {other, c.other}} {
				want := map[string]float64{}
				if side.want != "" {
					want[side.want] = 1.5
				}
				if diff := cmp.Diff(want, side.got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestJudgeCreate(t *testing.T) {
	w := window{begin: at(0), seen: at(1000), writes: []write{
		done(10, fleet.Sets, "create", "machines", "a"),
		done(12, fleet.Sets, "create", "machines", "b"),
		done(300, "kwok", "patch", "nodes/status", "a"),
		done(350, fleet.Machines, "patch", "machines/status", "a"),
		done(400, "kwok", "patch", "nodes/status", "b"),
		done(700, fleet.Machines, "patch", "machines/status", "b"),
		done(1500, fleet.Machines, "patch", "machines/status", "b"),
	}}
	var m Measured
	end := judgeCreate(&m, ceilings{create: time.Second, joining: 2 * time.Second}, w, map[string]time.Time{"a": at(30), "b": at(62)})
	if !end.Equal(at(700)) {
		t.Errorf("it ends %s, want when the last machine was Running, before that was noticed: %s", end, at(700))
	}
	want := Measured{
		CeilingSeconds: 1, JoiningCeilingSeconds: 2, JoiningTurns: []float64{2},
		Latencies: Latencies{
			AddedLatency: &Latency{P50: 0.02, P99: 0.05}, RunningLatency: &Latency{P50: 0.05, P99: 0.3},
			CloudLatency: &Latency{P50: 0.03, P99: 0.062},
		},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudgeRemove(t *testing.T) {
	w := window{begin: at(0), seen: at(1000), writes: []write{
		done(10, fleet.Sets, "delete", "machines", "a"),
		done(110, fleet.Machines, "patch", "machines", "a"),
		done(150, fleet.Machines, "delete", "nodes", "a"),
	}}
	var m Measured
	end := judgeRemove(&m, ceilings{remove: time.Second}, w)
	if !end.Equal(at(150)) {
		t.Errorf("it ends %s, want when the last node went: %s", end, at(150))
	}
	if diff := cmp.Diff(Measured{CeilingSeconds: 1, Latencies: Latencies{AddedLatency: &Latency{P50: 0.1, P99: 0.1}}}, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJudgeRoll(t *testing.T) {
	w := window{begin: at(0), seen: at(1000), writes: []write{
		done(5, fleet.Sets, "create", "machines", "new"),
		done(20, "kwok", "patch", "nodes/status", "new"),
		done(25, "kwok", "patch", "nodes/status", "old"),
		done(60, fleet.Machines, "patch", "machines/status", "new"),
		done(70, fleet.Machines, "patch", "machines/status", "old"),
		done(90, fleet.Machines, "delete", "nodes", "old"),
		done(95, fleet.Machines, "patch", "machines", "old"),
		done(400, fleet.Sets, "patch", "machinedeployments/status", "fleet"),
		done(1200, fleet.Sets, "patch", "machinedeployments/status", "fleet"),
	}}
	var m Measured
	end := judgeRoll(&m, ceilings{waves: time.Second, wavesJoining: 3 * time.Second}, w)
	if !end.Equal(at(400)) {
		t.Errorf("it ends %s, want when the deployment said that it is complete: %s", end, at(400))
	}
	want := Measured{
		CeilingSeconds: 1, JoiningCeilingSeconds: 3, Roll: &Rolled{ToldSeconds: 0.305},
		Latencies: Latencies{RunningLatency: &Latency{P50: 0.04, P99: 0.04}}, // only of the machine that came
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
