package run

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestMetricsOfLinkedCodeGiveWay: packages of actuators bring metrics of the original's machine controller, under names that this process
// serves. Its own are served, and what has another name stays.
func TestMetricsOfLinkedCodeGiveWay(t *testing.T) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	linked := prometheus.NewRegistry()
	linked.MustRegister(counter("mapi_instance_create_failed", "Linked."), counter("shelf_requests", "Linked."))
	f := Foremost{Registerer: linked, ours: prometheus.NewRegistry()}
	mine := counter("mapi_instance_create_failed", "Ours.")
	f.MustRegister(mine, counter("millwright_steps", "Ours."))
	mine.Add(3)
	families, err := f.over(linked).Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, family := range families {
		got[family.GetName()] = family.GetHelp()
		if n := family.Metric[0].Counter.GetValue(); (n == 3) != (family.GetName() == "mapi_instance_create_failed") {
			t.Errorf("%s is %v", family.GetName(), n)
		}
	}
	if len(got) != 3 || got["mapi_instance_create_failed"] != "Ours." || got["shelf_requests"] != "Linked." || got["millwright_steps"] != "Ours." {
		t.Errorf("what is served is %v", got)
	}
	if f.Register(counter("", "None.")) == nil {
		t.Error("what is no metric is registered")
	}
	if f.Register(mine) == nil {
		t.Error("a metric of ours is registered twice")
	}
}
