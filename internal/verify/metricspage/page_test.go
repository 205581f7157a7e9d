// Package metricspage holds docs/metrics.md to the metrics that the programs have.
package metricspage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/controller/disruption"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/controller/machinehealthcheck"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/controller/orphan"
	"github.com/millwright-dev/millwright/internal/controller/statemetrics"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/serverclock"
	"github.com/millwright-dev/millwright/internal/runtime/termination"
	"github.com/millwright-dev/millwright/internal/verify/tidy"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/decorate"
)

// The programs, as the page calls them.
const (
	manager  = "machine-controller-manager"
	machines = "machine-controller-<provider>"
	handler  = "termination-handler"
	operator = "machine-api-operator"
)

// source is a package that makes metrics, and the programs that have them.
type source struct {
	dir      string
	programs []string
	register func(prometheus.Registerer) error
}

// must is for constructors that take an error for a defect.
func must(f func(prometheus.Registerer)) func(prometheus.Registerer) error {
	return func(r prometheus.Registerer) error { f(r); return nil }
}

// either is for constructors that return what they made.
func either[T any](f func(prometheus.Registerer) (T, error)) func(prometheus.Registerer) error {
	return func(r prometheus.Registerer) error { _, err := f(r); return err }
}

func objects(kinds ...statemetrics.Kind) func(prometheus.Registerer) error {
	reader := fake.NewClientBuilder().WithScheme(run.Scheme()).Build()
	return func(r prometheus.Registerer) error {
		return r.Register(statemetrics.New(statemetrics.Options{Reader: reader, Kinds: kinds}))
	}
}

// sources are all packages that make metrics. A package may be there twice, for two programs.
func sources() []source {
	const state = "internal/controller/statemetrics"
	return []source{
		{state, []string{manager}, objects(
			statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets(),
			statemetrics.GardenerMachineSets(), statemetrics.GardenerMachineDeployments(), statemetrics.OpenShiftMachineDeployments(),
		)},
		{state, []string{operator}, objects(statemetrics.OpenShiftMachines(), statemetrics.OpenShiftMachineSets())},
		{state, []string{machines}, objects(statemetrics.OpenShiftPlaces("nothing", "zone", "type"), statemetrics.GardenerMachines())},
		{"internal/controller/machineset", []string{manager}, func(r prometheus.Registerer) error { return r.Register(machineset.NewStaleMachines()) }},
		{"internal/controller/machinehealthcheck", []string{manager}, either(machinehealthcheck.NewMetrics)},
		{"internal/controller/machine", []string{machines}, must(func(r prometheus.Registerer) { machine.NewMetrics(r) })},
		{"internal/controller/disruption", []string{machines}, must(func(r prometheus.Registerer) { disruption.NewMetrics(r) })},
		{"internal/controller/csr", []string{machines}, either(csr.NewMetrics)},
		{"internal/controller/orphan", []string{machines}, either(orphan.NewMetrics)},
		{"provider/decorate", []string{machines}, func(r prometheus.Registerer) error {
			_, err := decorate.Metrics(nothing{}, r, clock.RealClock{})
			return err
		}},
		{"internal/runtime/run", []string{manager, machines}, func(r prometheus.Registerer) error {
			prober := run.NewProber(nil, connectivity.Policy{}, serverclock.New(clock.RealClock{}, logr.Discard()), logr.Discard())
			return errors.Join(r.Register(prober), r.Register(run.NewTerms()), r.Register(run.NewRequestLatency()))
		}},
		{"internal/runtime/run", []string{machines}, func(r prometheus.Registerer) error { return r.Register(run.NewBoundsGauge()) }},
		{"internal/runtime/termination", []string{handler}, must(func(r prometheus.Registerer) { termination.NewMetrics(r) })},
	}
}

// nothing is a provider of nothing.
type nothing struct{}

func (nothing) Name() string { return "nothing" }

func (nothing) Open(context.Context, provider.Class) (provider.Session, error) { return nil, nil }

// entry is a row of the table.
type entry struct{ name, kind, labels, meaning, programs string }

// shelf keeps what is registered.
type shelf struct {
	*prometheus.Registry
	all []prometheus.Collector
}

func (s *shelf) Register(c prometheus.Collector) error {
	s.all = append(s.all, c)
	return s.Registry.Register(c)
}

func (s *shelf) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := s.Register(c); err != nil {
			panic(err)
		}
	}
}

// described matches a description as it prints itself, which is the only way in which it tells its name and labels.
var described = regexp.MustCompile(`^Desc\{fqName: "(.*)", help: "(.*)", unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// constants matches the labels of a description that have one value.
var constants = regexp.MustCompile(`(\w+)="`)

// kindOf is the type of a collector's metrics; empty where it has no type for all of them.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec, prometheus.Gauge: // a gauge can all that a counter can: it comes first
		return "gauge"
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case prometheus.Counter:
		return "counter"
	}
	return ""
}

func collected(t *testing.T) (out []entry) {
	t.Helper()
	for _, s := range sources() {
		r := &shelf{Registry: prometheus.NewRegistry()}
		if err := s.register(r); err != nil {
			t.Fatal(err)
		}
		gathered := map[string]string{}
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			gathered[f.GetName()] = strings.ToLower(f.GetType().String())
		}
		for _, c := range r.all {
			for _, d := range describe(c) {
				parts := described.FindStringSubmatch(d.String())
				if parts == nil {
					t.Fatalf("cannot read %s", d)
				}
				labels := parts[4]
				for _, constant := range constants.FindAllStringSubmatch(parts[3], -1) {
					labels += "," + constant[1]
				}
				// What a collector of its own makes has no series without objects, and is a gauge then: one for each object.
				kind := cmp.Or(kindOf(c), gathered[parts[1]], "gauge")
				for _, program := range s.programs {
					out = append(out, entry{parts[1], kind, labels, parts[2], program})
				}
			}
		}
	}
	return append(out, queues(t)...)
}

func describe(c prometheus.Collector) (out []*prometheus.Desc) {
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for d := range descs {
		out = append(out, d)
	}
	return out
}

// queues are the metrics that the gatherer of the programs makes of those of controller-runtime.
func queues(t *testing.T) (out []entry) {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "machineclass"})
	t.Cleanup(q.ShutDown)
	families, err := run.NewQueues(metrics.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "mcm_workqueue_") {
			continue
		}
		label := func(l *dto.LabelPair) string { return l.GetName() }
		for _, program := range []string{manager, machines} {
			out = append(out, entry{f.GetName(), strings.ToLower(f.GetType().String()), label(f.GetMetric()[0].GetLabel()[0]), f.GetHelp(), program})
		}
	}
	return out
}

// table is the table of the page: a row for each metric, by name.
func table(all []entry) string {
	merged := map[string]entry{}
	for _, e := range all {
		was, there := merged[e.name]
		if there && !strings.Contains(was.programs, e.programs) {
			was.programs += ", " + e.programs
		}
		if !there {
			was = e
		}
		merged[e.name] = was
	}
	var out strings.Builder
	out.WriteString("| metric | type | labels | meaning | program |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		e := merged[name]
		labels := strings.Join(strings.FieldsFunc(e.labels, func(r rune) bool { return r == ',' }), ", ")
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", e.name, e.kind, labels, strings.ReplaceAll(e.meaning, "|", `\|`), strings.ReplaceAll(e.programs, "<provider>", "*provider*"))
	}
	return out.String()
}

// The table stands between these lines of the page.
const begins, ends = "<!-- The table is made by a test of internal/verify/metricspage: do not edit it. -->\n\n", "\n<!-- End of the table. -->\n"

func repository(t *testing.T) string {
	t.Helper()
	dir, err := tidy.Here()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTable: the page in docs has the metrics of the programs, their types, labels and meanings. With UPDATE_GOLDEN set the
// table is written anew.
func TestTable(t *testing.T) { holdTable(t, begins, ends, table(collected(t))) }

// holdTable holds what stands between two lines of the page to what is wanted there.
func holdTable(t *testing.T, begins, ends, want string) {
	t.Helper()
	file := filepath.Join(repository(t), "docs", "metrics.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), begins)
	got, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", file)
	}
	if got == want {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s is not what the programs have: UPDATE_GOLDEN=1 go test ./internal/verify/metricspage", file)
	}
	if err := os.WriteFile(file, []byte(before+begins+want+ends+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMeanings: every metric says in a sentence what it means.
func TestMeanings(t *testing.T) {
	for _, e := range collected(t) {
		if len(e.meaning) < 10 {
			t.Errorf("%s: its help text is %q", e.name, e.meaning)
		}
	}
}

// nameLabels are labels whose values are names of machines, nodes or instances: as many as there ever were.
var nameLabels = []string{"name", "machine", "node", "instance_id", "provider_id", "spec_provider_id", "node_name", "failed_machine_name"}

// named are metrics of ours whose label name is that of a health check or a deployment.
var named = regexp.MustCompile(`^millwright_(machinehealthcheck_storms$|machine_deployment_)`)

// TestNamesOfMachinesAreNoLabels: what Millwright adds to the metrics of the originals has so many series as there are
// programs, reasons and health checks, however many machines come and go.
func TestNamesOfMachinesAreNoLabels(t *testing.T) {
	for _, e := range collected(t) {
		if !strings.HasPrefix(e.name, "millwright_") || named.MatchString(e.name) {
			continue
		}
		for label := range strings.SplitSeq(e.labels, ",") {
			if slices.Contains(nameLabels, label) {
				t.Errorf("%s has the label %s", e.name, label)
			}
		}
	}
}

// shipped are the folders of what runs in clusters.
var shipped = []string{"cmd/", "internal/controller/", "internal/dialect/", "internal/engine/", "internal/runtime/", "provider/", "providers/", "serve/"}

// makes matches the functions of package prometheus that make metrics.
var makes = regexp.MustCompile(`^New(Counter|Gauge|Histogram|Summary|Untyped|Desc)(Vec|Func)?$`)

// TestNoSourceIsForgotten: each package that creates metrics is among the sources of the table.
func TestNoSourceIsForgotten(t *testing.T) {
	files, err := tidy.Load(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range files {
		if f.Test || !slices.ContainsFunc(shipped, func(dir string) bool { return strings.HasPrefix(f.Path, dir) }) {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "prometheus" && makes.MatchString(selector.Sel.Name) {
				found[f.Dir()] = true
			}
			return true
		})
	}
	known := map[string]bool{}
	for _, s := range sources() {
		known[s.dir] = true
	}
	if !maps.Equal(found, known) {
		t.Errorf("metrics are made in %v, and the table is of %v", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(known)))
	}
}

// TestTableCatches: a change of a name, a type, a label, a meaning or a program is one of the page.
func TestTableCatches(t *testing.T) {
	one := entry{"a_total", "counter", "kind,name", "How often.", manager}
	rows := []struct {
		reason string
		change func(*entry)
	}{
		{"another name", func(e *entry) { e.name = "b_total" }},
		{"another type", func(e *entry) { e.kind = "gauge" }},
		{"a label less", func(e *entry) { e.labels = "kind" }},
		{"another meaning", func(e *entry) { e.meaning = "How many." }},
		{"another program", func(e *entry) { e.programs = handler }},
	}
	for _, r := range rows {
		other := one
		r.change(&other)
		if table([]entry{one}) == table([]entry{other}) {
			t.Errorf("%s goes unnoticed", r.reason)
		}
	}
	two := one
	two.programs = handler
	if got := table([]entry{one, two, one}); strings.Count(got, "a_total") != 1 || !strings.Contains(got, manager+", "+handler) {
		t.Errorf("a metric of two programs is shown as %s", got)
	}
}
