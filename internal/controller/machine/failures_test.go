package machine_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/provider"
)

// measures gives the rig metrics of its own.
func (g *rig[M]) measures() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	return registry
}

// The rows of section 9.1 of the OpenShift notes about failures of the infrastructure: each has its counter, whose reason is
// the kind of the error, and no series outlives its machine.
func TestFailuresAreCounted(t *testing.T) {
	const series = "m-1 machines "
	rows := []struct {
		metric string
		fails  func(*rig[*machinev1.Machine])
		want   map[string]float64
		reason string
	}{
		{"mapi_instance_create_failed", func(g *rig[*machinev1.Machine]) {
			g.cloud.createErr = provider.Errorf(provider.Exhausted, "quota of project 4711 is used up")
			g.pass()
			g.pass()
			g.clock.Step(time.Hour)
			g.pass()
			g.cloud.createErr = provider.Errorf(provider.Denied, "no")
			g.clock.Step(time.Hour)
			g.pass()
		}, map[string]float64{series + "Exhausted": 2, series + "Denied": 1}, "attempts count, and passes that wait for the next one do not"},
		{"mapi_instance_update_failed", func(g *rig[*machinev1.Machine]) {
			g.settle()
			g.cloud.findErr = provider.Errorf(provider.Throttled, "slower")
			g.pass()
			g.cloud.findErr = nil
			g.cloud.openErr = func(provider.Class) error { return provider.Errorf(provider.Invalid, "no such region") }
			g.pass()
		}, map[string]float64{series + "Throttled": 1, series + "Invalid": 1}, "there is an instance, and it cannot be looked after"},
		{"mapi_instance_delete_failed", func(g *rig[*machinev1.Machine]) {
			g.settle()
			g.delete()
			g.cloud.deleteErr = errors.New("odd")
			g.pass()
			g.clock.Step(time.Hour)
			g.pass()
		}, map[string]float64{series + "Transient": 2}, "an error of no kind is Transient"},
	}
	for _, r := range rows {
		t.Run(r.metric, func(t *testing.T) {
			g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
			registry := g.measures()
			r.fails(g)
			for _, other := range rows {
				want := r.want
				if other.metric != r.metric {
					want = nil
				}
				expectSeries(t, registry, r.reason, other.metric, want)
			}
			g.change(func(m *machinev1.Machine) { m.Finalizers = nil })
			if !g.gone() {
				g.delete()
			}
			g.pass()
			expectSeries(t, registry, "gone", r.metric, nil)
		})
	}
}

// A creation that never led to a call is not a failure of the infrastructure.
func TestMissingUserDataIsNoFailedCreate(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	registry := g.measures()
	g.cloud.createErr = provider.Errorf(provider.Transient, "busy")
	g.pass()
	g.cloud.createErr = nil
	if err := g.control.WithWatch.Delete(t.Context(), userData("")); err != nil {
		t.Fatal(err)
	}
	g.clock.Step(time.Hour)
	g.pass()
	if g.cloud.count("Create") != 1 {
		t.Fatal("an instance was asked for without user data")
	}
	expectSeries(t, registry, "without user data", "mapi_instance_create_failed", map[string]float64{"m-1 machines Transient": 1})
}

// The rows of section 7.2 of the Gardener notes about the way to a running machine: gauges of the last one, in whole seconds,
// create and join from the machine's creation; and the counter of those that did not join.
func TestArrivalsAreMeasured(t *testing.T) {
	const series = "large pool machines zone-a"
	rows := []struct {
		metric string
		want   map[string]float64
		reason string
	}{
		{"mcm_machine_create_duration_seconds", map[string]float64{series: 13}, "the first attempt fails, the second makes the instance after 12.6 s"},
		{"mcm_machine_initialize_duration_seconds", map[string]float64{series: 4}, "the call takes 4 s"},
		{"mcm_machine_join_duration_seconds", map[string]float64{series: 137}, "the node is healthy two minutes after that"},
		{"mcm_machine_num_failed_join", nil, "it did join"},
		{"mcm_machine_delete_duration_seconds", nil, "it lives"},
		{"mcm_machine_drain_duration_seconds", nil, "it lives"},
	}
	g := gardenerRig(t)
	registry := g.measures()
	g.cloud.next.Zone, g.cloud.next.Uninitialized = "zone-a", true
	g.cloud.createErr = provider.Errorf(provider.Transient, "busy")
	g.pass()
	expectSeries(t, registry, "not created", "mcm_machine_create_duration_seconds", nil)
	g.cloud.createErr = nil
	g.clock.Step(12600 * time.Millisecond)
	g.cloud.before = func(call string) {
		if call == "Initialize" {
			g.clock.Step(4 * time.Second)
		}
	}
	g.pass()
	g.pass()
	g.clock.Step(2 * time.Minute)
	g.joins()
	g.pass()
	g.clock.Step(time.Hour)
	g.pass()
	for _, r := range rows {
		expectSeries(t, registry, r.reason, r.metric, r.want)
	}

	late := gardenerRig(t)
	registry = late.measures()
	late.cloud.next.Zone = "zone-a"
	late.pass()
	late.clock.Step(24 * time.Hour)
	late.pass()
	late.pass()
	if phase := late.read().Status.CurrentStatus.Phase; phase != v1alpha1.MachineFailed {
		t.Fatalf("the phase is %s", phase)
	}
	expectSeries(t, registry, "it did not join", "mcm_machine_num_failed_join", map[string]float64{series: 1})
	expectSeries(t, registry, "it did not join", "mcm_machine_join_duration_seconds", nil)
	if names := slices.Sorted(maps.Keys(measured(t, registry, "mcm_machine_create_duration_seconds"))); !slices.Equal(names, []string{series}) {
		t.Errorf("created are %v", names)
	}
}

// Machines without the label of a deployment are not measured, as in the original, and nothing panics for lack of labels.
func TestLoneMachinesAreNotMeasured(t *testing.T) {
	g := gardenerRig(t, func(m *v1alpha1.Machine) { m.Labels = nil })
	registry := g.measures()
	g.settle()
	for _, metric := range []string{"mcm_machine_create_duration_seconds", "mcm_machine_join_duration_seconds"} {
		expectSeries(t, registry, "without a deployment", metric, nil)
	}
}

// TestRemovalsBackOffBetweenQuestions: of a removal and a question that fail by turns, the removal backs off as if no question had failed,
// and what the infrastructure exhausted stays so.
func TestRemovalsBackOffBetweenQuestions(t *testing.T) {
	g := openshiftRig(t)
	g.pass()
	g.delete()
	g.cloud.deleteErr = errors.New("connection reset")
	for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		res := g.pass()
		if res.RequeueAfter != want || g.cloud.count("Delete") != i+1 {
			t.Fatalf("failure %d: again in %v after %d calls of Delete, want %v", i+1, res.RequeueAfter, g.cloud.count("Delete"), want)
		}
		g.clock.Step(want)
		g.cloud.findErr = errors.New("connection reset")
		g.clock.Step(g.pass().RequeueAfter)
		g.cloud.findErr = nil
	}

	made := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	made.cloud.createErr = provider.Errorf(provider.Exhausted, "no capacity")
	made.pass()
	made.clock.Step(time.Minute)
	made.cloud.findErr = errors.New("connection reset")
	made.pass()
	made.clock.Step(time.Minute)
	made.cloud.findErr = nil
	if res := made.pass(); res.RequeueAfter != 8*time.Minute || made.cloud.count("Create") != 1 {
		t.Errorf("after a question that failed: again in %v after %d calls of Create, want 8m after 1", res.RequeueAfter, made.cloud.count("Create"))
	}
}
