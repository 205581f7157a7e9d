package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/millwright-dev/millwright/examples"
	"github.com/millwright-dev/millwright/internal/demo/devplane"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// unseen are metrics that alerts and dashboards use and that a fleet without faults does not show, because a series begins with
// the first event that it counts.
var unseen = map[string]string{
	"mapi_instance_create_failed":                                  "no instance was refused",
	"mapi_instance_delete_failed":                                  "no removal was refused",
	"mapi_machinehealthcheck_remediation_success_total":            "no machine was unhealthy",
	"mcm_cloud_api_driver_requests_failed_total":                   "no call failed",
	"mcm_machine_delete_duration_seconds":                          "no machine of machine.sapcloud.io went",
	"mcm_machine_drain_duration_seconds":                           "no machine of machine.sapcloud.io was drained",
	"mcm_machine_initialize_duration_seconds":                      "kubemark's instances need no initialization",
	"mcm_machine_num_failed_join":                                  "every machine joined",
	"mcm_machine_set_failed_machines":                              "no machine failed",
	"mcm_machine_set_status_condition":                             "no set is frozen, or fails to make machines",
	"millwright_machine_failures_total":                            "no pass failed",
	"millwright_machines_frozen":                                   "the target cluster is the one that machines joined",
	"millwright_orphan_listing_failures_total":                     "no listing failed",
	"millwright_provider_exhausted_total":                          "there was room",
	"millwright_termination_handler_looks_total":                   "no termination handler runs: TestInterruption has one",
	"millwright_termination_handler_last_answer_timestamp_seconds": "the same",
	"millwright_termination_handler_node_writes_total":             "the same",
	"millwright_termination_handler_notices":                       "the same",
}

// page is a row of docs/metrics.md.
type page struct {
	kind   string
	labels []string
}

var pageRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

func metricsPage(t *testing.T, root string) map[string]page {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]page{}
	for _, row := range pageRow.FindAllStringSubmatch(string(raw), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		out[row[1]] = page{row[2], labels}
	}
	return out
}

// askedFor returns the metrics of the page that alerts and dashboards name.
func askedFor(t *testing.T, root string, known map[string]page) []string {
	t.Helper()
	var text strings.Builder
	for _, pattern := range []string{"config/monitoring/plain/*.yaml", "config/dashboards/*.json"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(raw)
		}
	}
	words := map[string]bool{}
	for _, word := range regexp.MustCompile(`\w+`).FindAllString(text.String(), -1) {
		words[word] = true
	}
	var out []string
	for name, p := range known {
		if words[name] || p.kind == "histogram" && (words[name+"_bucket"] || words[name+"_count"] || words[name+"_sum"]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TestShippedQueriesFindSeries: a fleet of both APIs shows the metrics that alerts and dashboards use, with the types and
// labels of the page of metrics, with which another test checks the queries.
func TestShippedQueriesFindSeries(t *testing.T) {
	t.Parallel()
	root, err := devplanetest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	known := metricsPage(t, root)
	addresses := watchedFleet(t)
	wanted := askedFor(t, root, known)
	if len(wanted) < 60 {
		t.Fatalf("only %d metrics are requested", len(wanted))
	}
	var shown map[string]*dto.MetricFamily
	eventually(t, "the series that alerts and dashboards ask for", func(ctx context.Context) (string, error) {
		if shown, err = scrape(ctx, addresses...); err != nil {
			return "", err
		}
		var missing []string
		for _, name := range wanted {
			if shown[name] == nil && unseen[name] == "" {
				missing = append(missing, name)
			}
		}
		return strings.Join(missing, ", "), nil
	})
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		p, listed := known[name]
		if !listed {
			if regexp.MustCompile(`^(mapi|mcm|millwright|machine)_`).MatchString(name) {
				t.Errorf("the page does not list %s", name)
			}
			continue
		}
		if kind := strings.ToLower(shown[name].GetType().String()); kind != p.kind {
			t.Errorf("%s is a %s, and the page says %s", name, kind, p.kind)
		}
		if labels := labelsOf(shown[name]); !slices.Equal(labels, p.labels) {
			t.Errorf("%s has the labels %v, and the page says %v", name, labels, p.labels)
		}
	}
	for name, why := range unseen {
		if !slices.Contains(wanted, name) {
			t.Errorf("no alert or dashboard uses %s any more, which is not shown because %s", name, why)
		}
	}
}

// watchedFleet starts a fleet of both APIs that serves metrics: sets, a deployment, a health check, and a machine whose
// deletion a hook blocks.
func watchedFleet(t *testing.T) (addresses []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "millwright-monitoring-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := down(dir); err != nil {
			t.Error("take the fleet down:", err)
		}
	})
	sets, machines := devplanetest.FreeAddress(t), devplanetest.FreeAddress(t)
	f, err := fleet.Start(t.Context(), fleet.Options{
		Dir: dir, Bin: bin, Backend: "kwok", Components: []string{devplane.Kwok}, Log: os.Stderr,
		Args: map[string][]string{
			fleet.Sets:     {"--metrics-bind-address=" + sets},
			fleet.Machines: {"--metrics-bind-address=" + machines, "--machine-safety-orphan-vms-period=" + time.Second.String()},
		},
	})
	if err != nil {
		t.Fatal("start the fleet:", err)
	}
	if err := f.ApplySamples(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"gardener-machinedeployment.yaml", "openshift-machinedeployment.yaml", "openshift-machinehealthcheck.yaml"} {
		raw, err := examples.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Create(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
	d := dialects[0]
	const held = "held"
	d.machine(t, f, held)
	merge(t, f, d.object("Machine", held), `{"spec":{"lifecycleHooks":{"preDrain":[{"name":"backup","owner":"story/keeper"}]}}}`)
	d.remove(t, f, held)
	return []string{sets, machines}
}

// scrape reads the metrics of several programs as one.
func scrape(ctx context.Context, addresses ...string) (map[string]*dto.MetricFamily, error) {
	out := map[string]*dto.MetricFamily{}
	for _, address := range addresses {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
		if err != nil {
			return nil, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("read the metrics of %s: %w", address, err)
		}
		for name, f := range families {
			if out[name] != nil {
				f.Metric = append(f.Metric, out[name].Metric...)
			}
			out[name] = f
		}
	}
	return out, nil
}

// labelsOf returns the labels of the series of a family, sorted.
func labelsOf(f *dto.MetricFamily) []string {
	all := map[string]bool{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			all[l.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
