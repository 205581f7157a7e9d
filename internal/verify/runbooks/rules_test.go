package runbooks

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/verify/tidy"
)

// rules are the manifests of alerts, by the names of their objects and files.
var rules = []string{"machine-api-operator-prometheus-rules", "millwright-prometheus-rules"}

// manifest is a PrometheusRule, as far as it is shipped here.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// of is the manifest that it is in.
	of string
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := tidy.Here()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{root(t)}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// alerts are all that are shipped, by name.
func alerts(t *testing.T) (out []alert) {
	t.Helper()
	for _, name := range rules {
		var m manifest
		if err := yaml.UnmarshalStrict([]byte(read(t, "config", "monitoring", name+".yaml")), &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.APIVersion != "monitoring.coreos.com/v1" || m.Kind != "PrometheusRule" || m.Metadata.Name != name {
			t.Fatalf("%s is %s %s %s", name, m.APIVersion, m.Kind, m.Metadata.Name)
		}
		for _, g := range m.Spec.Groups {
			for _, a := range g.Rules {
				a.of = name
				out = append(out, a)
			}
		}
	}
	slices.SortFunc(out, func(a, b alert) int { return cmp.Compare(a.Alert, b.Alert) })
	return out
}

// TestAlertsAreComplete: each alert says what it is about and where to read on.
func TestAlertsAreComplete(t *testing.T) {
	all := alerts(t)
	for i, a := range all {
		if i > 0 && all[i-1].Alert == a.Alert {
			t.Errorf("%s is there twice", a.Alert)
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, a.Labels["severity"]) {
			t.Errorf("%s has the severity %q", a.Alert, a.Labels["severity"])
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
			t.Errorf("%s lacks a summary or a description", a.Alert)
		}
		if want := "https://github.com/millwright-dev/millwright/blob/main/docs/runbooks/" + a.Alert + ".md"; a.Annotations["runbook_url"] != want {
			t.Errorf("%s: its runbook_url is %q, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
	}
}

// TestOriginalAlerts: section 9.2 of the OpenShift notes. Silences and routes are made for these names and this severity,
// dashboards for the expressions.
func TestOriginalAlerts(t *testing.T) {
	want := map[string][2]string{
		"MachineWithoutValidNode":                    {"sum by (name, namespace) (mapi_machine_created_timestamp_seconds unless on(node) kube_node_info) > 0", "60m"},
		"MachineWithNoRunningPhase":                  {`sum by (name, namespace) (mapi_machine_created_timestamp_seconds{phase!~"Running|Deleting"}) > 0`, "60m"},
		"MachineNotYetDeleted":                       {`sum by (name, namespace) (avg_over_time(mapi_machine_created_timestamp_seconds{phase="Deleting"}[15m])) > 0`, "360m"},
		"MachineAPIOperatorMetricsCollectionFailing": {"mapi_mao_collector_up == 0", "5m"},
		"MachineHealthCheckUnterminatedShortCircuit": {"mapi_machinehealthcheck_short_circuit == 1", "30m"},
		"MachineApproverMaxPendingCSRsReached":       {"mapi_current_pending_csr > mapi_max_pending_csr", "5m"},
	}
	for _, a := range alerts(t) {
		if a.of != rules[0] {
			continue
		}
		w, known := want[a.Alert]
		if !known {
			t.Errorf("%s is no alert of the original", a.Alert)
		}
		if strings.TrimSpace(a.Expr) != w[0] || a.For != w[1] || a.Labels["severity"] != "warning" {
			t.Errorf("%s is %q for %s, %s; want %q for %s, warning", a.Alert, a.Expr, a.For, a.Labels["severity"], w[0], w[1])
		}
		delete(want, a.Alert)
	}
	for name := range want {
		t.Errorf("%s is not there", name)
	}
}

// plain is what a Prometheus without the operator loads: the groups alone.
func plain(t *testing.T, name string) string {
	t.Helper()
	_, spec, ok := strings.Cut(read(t, "config", "monitoring", name+".yaml"), "\nspec:\n")
	if !ok {
		t.Fatalf("%s has no spec", name)
	}
	var out strings.Builder
	out.WriteString("# Made from ../" + name + ".yaml by a test of internal/verify/runbooks: do not edit it.\n")
	for line := range strings.Lines(spec) {
		inner, indented := strings.CutPrefix(line, "  ")
		if !indented {
			t.Fatalf("%s: something follows the spec: %q", name, line)
		}
		out.WriteString(inner)
	}
	return out.String()
}

// hold holds a text to what is wanted; with UPDATE_GOLDEN set the file is written anew.
func hold(t *testing.T, file, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Errorf("%s is not current: UPDATE_GOLDEN=1 go test ./internal/verify/runbooks", file)
		return
	}
	if err := os.WriteFile(filepath.Join(root(t), filepath.FromSlash(file)), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPlainRules: the rule files say what the manifests say.
func TestPlainRules(t *testing.T) {
	for _, name := range rules {
		file := "config/monitoring/plain/" + name + ".yaml"
		got, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(file)))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		hold(t, file, string(got), plain(t, name))
	}
}
