package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/provider"
)

// measured are the series of a metric, by the values of their labels in the
// order of the labels' names.
func measured(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			out[strings.Join(values, " ")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func expectSeries(t *testing.T, r *prometheus.Registry, when, name string, want map[string]float64) {
	t.Helper()
	got := measured(t, r, name)
	if len(got) != len(want) {
		t.Errorf("%s: %s is %v, want %v", when, name, got, want)
		return
	}
	for labels, value := range want {
		if v, ok := got[labels]; !ok || v != value {
			t.Errorf("%s: %s is %v, want %v", when, name, got, want)
		}
	}
}

// What blocks a deletion has a series for as long as it does, which grows
// although nothing happens to the machine.
func TestBlockedIsMeasured(t *testing.T) {
	const name = "machine_deletion_blocked_seconds"
	g := openshiftRig(t, func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "etcd", Owner: "op"}}
	})
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	g.settle()
	g.pod("db-0", true)
	refused := true
	g.target.refuse = func(w string) error {
		if refused && w == "create Pod/eviction" {
			return apierrors.NewTooManyRequests("a budget has no room", 0)
		}
		return nil
	}
	expectSeries(t, registry, "alive", name, nil)
	g.delete()
	g.pass()
	g.clock.Step(time.Hour)
	expectSeries(t, registry, "held by a hook", name, map[string]float64{"machine.openshift.io m-1 machines PreDrainHookPresent": 3600})

	g.change(func(m *machinev1.Machine) { m.Spec.LifecycleHooks.PreDrain = nil })
	g.pass()
	g.clock.Step(time.Minute)
	g.pass()
	expectSeries(t, registry, "held by a budget", name, map[string]float64{"machine.openshift.io m-1 machines Draining": 60})

	refused = false
	g.clock.Step(time.Minute)
	g.pass()
	expectSeries(t, registry, "the pod ends", name, nil)

	g.ends("db-0")
	g.cloud.deleteErr = provider.Errorf(provider.Denied, "no")
	g.pass()
	g.clock.Step(time.Second)
	expectSeries(t, registry, "refused by the cloud", name, map[string]float64{"machine.openshift.io m-1 machines TerminateFailed": 1})
	expectSeries(t, registry, "refused by the cloud", "mapi_instance_delete_failed", map[string]float64{"m-1 machines Denied": 1})

	// Another client removes the finalizer.
	g.change(func(m *machinev1.Machine) { m.Finalizers = nil })
	g.pass()
	expectSeries(t, registry, "gone", name, nil)
	expectSeries(t, registry, "gone", "mapi_instance_delete_failed", nil)
}

// TestDurationsAreForgotten: every rollout may create a set with another name, and deleted sets do not keep
// their series for ever.
func TestDurationsAreForgotten(t *testing.T) {
	g := openshiftRig(t)
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	const label = "machine.openshift.io/cluster-api-machineset"
	goes := func(n int, set string) {
		m := openshiftMachine(held[*machinev1.Machine](openshiftFinalizer))
		m.Name, m.UID = fmt.Sprintf("m-%d", n), types.UID(fmt.Sprintf("uid-%d", n))
		m.Labels[label] = set
		g.others(m)
		if _, err := g.try(m.Name); err != nil {
			t.Fatal(err)
		}
		if err := g.control.WithWatch.Delete(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := g.try(m.Name); err != nil {
				t.Fatal(err)
			}
			g.clock.Step(time.Second)
			g.told()
		}
	}
	stays := openshiftMachine()
	stays.Name, stays.Labels[label] = "stays", "lives"
	g.others(stays)
	goes(2, "lives")
	for n := range 400 {
		goes(n+3, fmt.Sprintf("set-%d", n))
	}
	for _, metric := range []string{"mcm_machine_create_duration_seconds", "mcm_machine_delete_duration_seconds"} {
		series := measured(t, registry, metric)
		if len(series) < 100 || len(series) > 250 {
			t.Errorf("%s has %d series after 400 sets", metric, len(series))
		}
		if _, ok := series["large lives machines "]; !ok {
			t.Errorf("%s: a set that has machines lost its series", metric)
		}
	}
}

// C5: the durations of machine.sapcloud.io have all their labels, also where the
// class says nothing of the node; machines without a deployment have none.
func TestDurationsAreMeasured(t *testing.T) {
	g := gardenerRig(t)
	registry := prometheus.NewRegistry()
	g.r.Metrics = machine.NewMetrics(registry)
	g.settle()
	g.pod("db-0", true)
	g.delete()
	// The fake stamps the deletion with the wall clock.
	g.clock.SetTime(g.read().DeletionTimestamp.Time)
	g.pass()
	g.clock.Step(40 * time.Second)
	g.ends("db-0")
	g.cloud.deleteErr = provider.Errorf(provider.Transient, "busy") // the drain is over, and is asked about again
	for range 2 {
		g.pass()
		g.clock.Step(10 * time.Second)
	}
	g.cloud.deleteErr, g.cloud.deletions = nil, 2
	for range 3 {
		g.pass()
		g.clock.Step(10 * time.Second)
	}
	if !g.gone() {
		t.Fatal("not gone")
	}
	expectSeries(t, registry, "gone", "mcm_machine_drain_duration_seconds", map[string]float64{"pool machines": 40})
	expectSeries(t, registry, "gone", "mcm_machine_delete_duration_seconds", map[string]float64{"large pool machines ": 80})

	lone := gardenerRig(t, func(m *v1alpha1.Machine) { m.Labels = nil })
	registry = prometheus.NewRegistry()
	lone.r.Metrics = machine.NewMetrics(registry)
	lone.settle()
	lone.delete()
	lone.pass()
	if got := measured(t, registry, "mcm_machine_delete_duration_seconds"); len(got) != 0 || !lone.gone() {
		t.Errorf("measured %v", got)
	}
}
