package metricspage

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// stockPrefixes are those of the metrics that come with the libraries and that the page lists: dashboards and alerts ask for them.
var stockPrefixes = []string{"controller_runtime_", "process_", "rest_client_", "workqueue_"}

// notOurs are metrics of those libraries about what our programs do without.
var notOurs = []string{"controller_runtime_webhook_", "controller_runtime_conversion_"}

func hasPrefix(name string, of []string) bool {
	return slices.ContainsFunc(of, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// stock are the metrics that every controller has from its libraries.
func stock(t *testing.T) (out []entry) {
	t.Helper()
	all, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatalf("a %T does not tell what it holds", metrics.Registry)
	}
	types := gatheredTypes(t)
	for _, d := range describe(all) {
		parts := described.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("cannot read %s", d)
		}
		if name := parts[1]; hasPrefix(name, stockPrefixes) && !hasPrefix(name, notOurs) {
			kind := cmp.Or(types[name], registeredType(name, parts[2], parts[4]))
			if kind == "" {
				t.Errorf("%s: its type is not known", name)
			}
			out = append(out, entry{name, kind, parts[4], parts[2], "every controller"})
		}
	}
	return out
}

func gatheredTypes(t *testing.T) map[string]string {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range families {
		out[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	return out
}

// registeredType is the type of a registered metric without series: the registry's error for a second registration names it.
func registeredType(name, help, labels string) string {
	twin := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, strings.FieldsFunc(labels, func(r rune) bool { return r == ',' }))
	err := metrics.Registry.Register(twin)
	if err == nil {
		metrics.Registry.Unregister(twin)
	}
	if there, is := errors.AsType[prometheus.AlreadyRegisteredError](err); is {
		return kindOf(there.ExistingCollector)
	}
	return ""
}

// The second table stands between these lines of the page.
const stockBegins, stockEnds = "<!-- This table is made by the same test. -->\n\n", "\n<!-- End of this table. -->\n"

// TestStockTable: the page has the metrics of the libraries that dashboards and alerts may ask for, so that a new version of a
// library that calls one otherwise is noticed.
func TestStockTable(t *testing.T) {
	queues(t) // what libraries say of queues, they say of those that are there
	all := stock(t)
	if len(all) < 20 {
		t.Errorf("there are only %d", len(all))
	}
	holdTable(t, stockBegins, stockEnds, table(all))
}
