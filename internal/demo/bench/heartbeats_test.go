package bench

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/engine/health"
)

// A heartbeat changes the node, so that the API server sends it to all watches, but changes
// nothing on which a health check decides.
func TestHeartbeatIsOne(t *testing.T) {
	since := metav1.NewTime(noon.Add(-time.Hour))
	before := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: since, LastTransitionTime: since},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: since, LastTransitionTime: since},
	}}}
	p := pulse{node: "n", conditions: []string{"Ready", "MemoryPressure"}}
	old, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := strategicpatch.StrategicMergePatch(old, p.heartbeat(noon), &corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	after := &corev1.Node{}
	if err := json.Unmarshal(raw, after); err != nil {
		t.Fatal(err)
	}
	want := before.DeepCopy()
	for i := range want.Status.Conditions {
		want.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(noon)
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if health.Stirs(before, after) {
		t.Error("a heartbeat wakes health checks")
	}
	if string(p.heartbeat(noon)) == string(p.heartbeat(noon.Add(period))) {
		t.Error("the next heartbeat changes nothing, so that nobody would be told of it")
	}
}

func TestScheduleGivesEachItsTurn(t *testing.T) {
	due := make(chan pulse)
	done := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	pulses := []pulse{{node: "a"}, {node: "b"}, {node: "c"}}
	go func() { done <- schedule(ctx, period/1000, pulses, due) }()
	var got []string
	for range 7 {
		got = append(got, (<-due).node)
	}
	if diff := cmp.Diff(strings.Split("abcabca", ""), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestStretchCounts(t *testing.T) {
	var s Stretch
	s.count([]write{
		wrote(1, heart, "patch", "nodes/status", "a", 200), wrote(2, heart, "patch", "nodes/status", "b", 200),
		wrote(3, heart, "patch", "nodes/status", "c", 500), wrote(4, "kwok", "patch", "nodes/status", "a", 200),
		wrote(5, fleet.Machines, "patch", "machines/status", "a", 200), wrote(6, fleet.Sets, "patch", "machinehealthchecks/status", "bench", 200),
		wrote(7, fleet.Sets, "patch", "machinehealthchecks/status", "bench", 409), wrote(8, agent, "create", "pods", "p", 201),
	})
	want := Stretch{Heartbeats: 2, Writes: map[string]int{
		fleet.Machines + ": patch machines/status": 1, fleet.Sets + ": patch machinehealthchecks/status": 2,
	}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("stored heartbeats, and all that our programs asked for (-want +got):\n%s", diff)
	}
}

func TestUsed(t *testing.T) {
	from := reading{at: noon, sets: usage{cpuSeconds: 10, peakRSS: 7}, machines: usage{cpuSeconds: 100}}
	to := reading{at: noon.Add(20 * time.Second), sets: usage{cpuSeconds: 11, peakRSS: 9}, machines: usage{cpuSeconds: 104}}
	got := used(from, to)
	if diff := cmp.Diff(Stretch{Seconds: 20, CPUSeconds: 1, MachinesCPUSeconds: 4, PeakRSSBytes: 9}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := got.percent(got.CPUSeconds); p != 5 {
		t.Errorf("1 s of 20 is %v %% of a core, want 5", p)
	}
}

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		d        time.Duration
		machines int
		want     int
	}{
		{20 * time.Second, 1000, 2000},
		{20*time.Second + 9*time.Millisecond, 1000, 2000},
		{1666 * time.Millisecond, 20, 3},
		{time.Second, 1, 0},
	} {
		if got := wanted(c.d, c.machines); got != c.want {
			t.Errorf("%d hearts for %s: %d, want %d", c.machines, c.d, got, c.want)
		}
	}
}

// stretchOf is a stretch that uses this many hundredths of a core.
func stretchOf(percent float64) Stretch {
	return Stretch{
		Seconds: 20, CPUSeconds: percent / 5, MachinesCPUSeconds: 1, PeakRSSBytes: int64(percent) << 20,
		Heartbeats: 1900, Wanted: 2000, Renewals: 5, Passes: 1, Writes: map[string]int{"p: patch x": 1},
	}
}

func TestCompareHeartbeats(t *testing.T) {
	got := compareHeartbeats(
		[]Stretch{stretchOf(3), stretchOf(30), stretchOf(4)},
		[]Stretch{stretchOf(4), stretchOf(33), stretchOf(4)})
	want := Heartbeats{
		With: Stretch{
			Seconds: 60, CPUSeconds: 8.2, MachinesCPUSeconds: 3, PeakRSSBytes: 33 << 20,
			Heartbeats: 5700, Wanted: 6000, Renewals: 15, Passes: 3, Writes: map[string]int{"p: patch x": 3},
		},
		Without: Stretch{
			Seconds: 60, CPUSeconds: 7.4, MachinesCPUSeconds: 3, PeakRSSBytes: 30 << 20,
			Heartbeats: 5700, Wanted: 6000, Renewals: 15, Passes: 3, Writes: map[string]int{"p: patch x": 3},
		},
		Cost: Spread{Median: 1, Least: 0, Most: 3}, Missing: 5,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each stretch is compared to the one before it (-want +got):\n%s", diff)
	}
	many := []Stretch{{Seconds: 1, Heartbeats: 3, Wanted: 2}}
	if got := compareHeartbeats(many, many); got.Missing != 0 {
		t.Errorf("%v %% missing of too many, want none", got.Missing)
	}
	none := []Stretch{{Seconds: 1}}
	if got := compareHeartbeats(none, none); got.Missing != 0 {
		t.Errorf("%v %% missing where none were to come, want none", got.Missing)
	}
}

func TestPrintHeartbeats(t *testing.T) {
	kept := func() Heartbeats {
		quiet := Stretch{Seconds: 60, CPUSeconds: 3, Heartbeats: 6000, Wanted: 6000, Writes: map[string]int{}}
		with := quiet
		with.Writes = map[string]int{}
		return Heartbeats{API: "a", Machines: 1000, With: with, Without: quiet, Missing: 5}
	}
	for _, c := range []struct {
		reason   string
		change   func(*Heartbeats)
		exceeded string
	}{
		{"all kept, at the limits", func(*Heartbeats) {}, ""},
		{"more than 5 % of a core", func(h *Heartbeats) { h.With.CPUSeconds = 3.02 }, "machine-controller-manager with the check, % of a core"},
		{"what others cost without the check is not its fault", func(h *Heartbeats) { h.Without.CPUSeconds = 30 }, ""},
		{"a write", func(h *Heartbeats) { h.With.Writes["p: patch x"] = 1 }, "API writes of the controllers with the check"},
		{"a write without the check", func(h *Heartbeats) { h.Without.Writes["p: patch x"] = 1 }, "API writes of the controllers without it"},
		{"too few heartbeats to tell", func(h *Heartbeats) { h.Missing = 5.1 }, "heartbeats missing, %"},
	} {
		h := kept()
		c.change(&h)
		if got := exceeded(t, &Report{Heartbeats: []Heartbeats{h}}); got != c.exceeded {
			t.Errorf("%s: exceeded %q, want %q", c.reason, got, c.exceeded)
		}
	}
	h := kept()
	h.With.Writes["p: patch x"] = 1234
	var out strings.Builder
	if err := (&Report{Heartbeats: []Heartbeats{h}}).Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a: heartbeats of 1000 nodes every 10s", "heartbeats stored, per second", " 100.0 ", "p: patch x 1234"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "at rest") {
		t.Errorf("it tells of writes at rest, which were not counted:\n%s", out.String())
	}
}

const metricsText = `# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="machinehealthcheck.healthchecking.openshift.io",result="success"} 100
controller_runtime_reconcile_total{controller="machinehealthcheck.machine.openshift.io",result="error"} 1
controller_runtime_reconcile_total{controller="machinehealthcheck.machine.openshift.io",result="success"} 2e+01
controller_runtime_reconcile_errors_total{controller="machinehealthcheck.machine.openshift.io"} 1000
`

func TestReadPasses(t *testing.T) {
	for _, c := range []struct {
		reason, text string
		want         int
		fails        bool
	}{
		{"whatever came of them, and of this kind of check alone", metricsText, 21, false},
		{"no health checks are served", strings.ReplaceAll(metricsText, "machine.openshift.io", "x"), 0, true},
		{"no number", strings.Replace(metricsText, "2e+01", "many", 1), 0, true},
		{"a line beyond measure", metricsText + strings.Repeat("x", 1<<17), 0, true},
	} {
		got, err := readPasses(strings.NewReader(c.text), healthChecks)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %d, %v; want %d", c.reason, got, err, c.want)
		}
	}
}

func TestPassesAreAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(metricsText))
	}))
	defer server.Close()
	if got, err := passes(t.Context(), strings.TrimPrefix(server.URL, "http://"), healthChecks); got != 21 || err != nil {
		t.Errorf("%d, %v; want 21", got, err)
	}
	if _, err := passes(t.Context(), strings.TrimPrefix(server.URL, "http://")+"/elsewhere", healthChecks); err == nil {
		t.Error("an answer that is none was read without an error")
	}
}
