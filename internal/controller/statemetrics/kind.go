package statemetrics

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
)

// Kind is one kind of objects, with its metrics.
type Kind struct {
	// name is the kind in messages: "Machine of machine.sapcloud.io".
	name    string
	descs   []*prometheus.Desc
	reading reading
	// collect reads the objects, and emits their number and their series.
	collect func(context.Context, client.Reader, chan<- prometheus.Metric) error
}

// family is one metric, and its values for an object.
type family[O client.Object] struct {
	name, help string
	// labels are those besides the name and namespace of the object, which every series has.
	labels []string
	// say emits the object's series: any number of them, or none.
	say func(O, emit)
}

// emit takes the value of one series, and the values of the family's labels.
type emit func(value float64, labels ...string)

// number is a family with one number per object.
func number[O client.Object](name, help string, of func(O) int32) family[O] {
	return family[O]{name: name, help: help, say: func(o O, emit emit) { emit(float64(of(o))) }}
}

// optional is a family with one number for each object that has it.
func optional[O client.Object, N int32 | int64](name, help string, of func(O) *N) family[O] {
	return family[O]{name: name, help: help, say: func(o O, emit emit) {
		if n := of(o); n != nil {
			emit(float64(*n))
		}
	}}
}

// kindOf is a kind with the objects of a list. items is the metric of their number.
func kindOf[O client.Object](name string, list client.ObjectList, items *prometheus.Desc, r reading, families ...family[O]) Kind {
	k := Kind{name: name, reading: r, descs: []*prometheus.Desc{items}}
	if r.desc != nil {
		k.descs = append(k.descs, r.desc)
	}
	descs := make([]*prometheus.Desc, len(families))
	for i, f := range families {
		descs[i] = prometheus.NewDesc(f.name, f.help, append([]string{"name", "namespace"}, f.labels...), nil)
	}
	k.descs = append(k.descs, descs...)
	k.collect = func(ctx context.Context, from client.Reader, to chan<- prometheus.Metric) error {
		all := list.DeepCopyObject().(client.ObjectList)
		if err := from.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list objects: %w", err)
		}
		n := 0
		for o := range dialect.Items[O](all) {
			n++
			for i, f := range families {
				f.collect(o, descs[i], to)
			}
		}
		gauge(to, items, float64(n))
		return nil
	}
	return k
}

// collect emits the series of one object. A list in an object may name one thing twice, and Prometheus
// rejects a repeated series: the first counts.
func (f family[O]) collect(o O, desc *prometheus.Desc, to chan<- prometheus.Metric) {
	said := map[string]bool{}
	f.say(o, func(value float64, labels ...string) {
		if key := strings.Join(labels, "\x00"); !said[key] {
			said[key] = true
			gauge(to, desc, value, append([]string{o.GetName(), o.GetNamespace()}, labels...)...)
		}
	})
}

// gauge emits one series; a value that Prometheus cannot represent is left out, so that the scrape
// succeeds.
func gauge(to chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	if m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
		to <- m
	}
}

// reading is how an API reports whether the objects of a kind could be read; zero: it does not.
type reading struct {
	desc *prometheus.Desc
	// kind is the value of the label of that name.
	kind string
	// counts: the metric counts the failures so far; else it reports whether the last reading succeeded.
	counts bool
}

func (r reading) tell(well bool, failures int, to chan<- prometheus.Metric) {
	switch {
	case r.counts:
		to <- prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue, float64(failures), r.kind)
	case well:
		gauge(to, r.desc, 1, r.kind)
	default:
		gauge(to, r.desc, 0, r.kind)
	}
}

// itemsOf describes the metric of how many objects there are.
func itemsOf(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
