package monitoring

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// ruleFiles are the rules in the form that Prometheus loads.
var ruleFiles = []string{"machine-api-operator-prometheus-rules", "millwright-prometheus-rules"}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) (out []rule) {
	t.Helper()
	for _, name := range ruleFiles {
		var file struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []rule `json:"rules"`
			} `json:"groups"`
		}
		if err := yaml.UnmarshalStrict([]byte(read(t, "config", "monitoring", "plain", name+".yaml")), &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, g := range file.Groups {
			out = append(out, g.Rules...)
		}
	}
	return out
}

var used = regexp.MustCompile(`\$labels\.(\w+)`)

// TestAlertQueries: alerts use only metrics that programs serve, and their texts use only labels in the result of the query.
func TestAlertQueries(t *testing.T) {
	c := served(t)
	for _, r := range rules(t) {
		has, problems := c.check(r.Expr)
		for _, problem := range problems {
			t.Errorf("%s: %v", r.Alert, problem)
		}
		for at, text := range r.Annotations {
			for _, label := range used.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(has, label[1]) {
					t.Errorf("%s: its %s uses the label %s, which the result of the query does not have", r.Alert, at, label[1])
				}
			}
		}
	}
}

// TestEveryAlertIsPlayed: promtool tests each alert at a time at which it fires, and at a time at which it does not.
func TestEveryAlertIsPlayed(t *testing.T) {
	files, err := filepath.Glob("*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		var suite struct {
			Tests []struct {
				Rules []struct {
					Alert  string           `json:"alertname"`
					Alerts []map[string]any `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal([]byte(read(t, "test", "monitoring", file)), &suite); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, one := range suite.Tests {
			for _, r := range one.Rules {
				if len(r.Alerts) > 0 {
					fires[r.Alert] = true
				} else {
					rests[r.Alert] = true
				}
			}
		}
	}
	for _, r := range rules(t) {
		if !fires[r.Alert] || !rests[r.Alert] {
			t.Errorf("%s: want a rule test in which it fires (%v) and one in which it does not (%v)", r.Alert, fires[r.Alert], rests[r.Alert])
		}
		delete(fires, r.Alert)
	}
	for alert := range fires {
		t.Errorf("%s has a rule test, but no such alert exists", alert)
	}
}
