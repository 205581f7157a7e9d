package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistory: scrapes become series, a series ends with the scrape that lacks it, alerts fire, and a dashboard shows both.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		text := fmt.Sprintf("# TYPE machines gauge\nmachines{zone=\"a\"} %d\n", n)
		if n < 10 {
			text += "machines{zone=\"b\"} 1\n"
		}
		write(fmt.Sprintf("%d-controller.txt", 1_800_000_000+15*n), text)
	}
	write("rules.yaml", "groups:\n- name: g\n  rules:\n  - alert: Many\n    expr: machines > 12\n    for: 1m\n    labels: {severity: warning}\n")
	write("fleet.json", `{"title": "Fleet", "panels": [
		{"type": "timeseries", "title": "By zone", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8}, "targets": [{"expr": "sum by (zone) (machines)", "legendFormat": "zone {{zone}}"}]},
		{"type": "stat", "title": "All", "gridPos": {"x": 12, "y": 0, "w": 6, "h": 4}, "targets": [{"expr": "sum(machines{zone=~\"$zone\"})"}]},
		{"type": "table", "title": "Alerts", "gridPos": {"x": 0, "y": 8, "w": 24, "h": 8}, "targets": [{"expr": "ALERTS{alertstate=\"firing\"}"}]}]}`)
	o := options{scrapes: dir, dashboards: dir, rules: filepath.Join(dir, "rules.yaml"), out: dir}
	if err := o.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "dashboard-fleet.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">zone a<", ">zone b<", ">19<", ">Many<", ">warning<"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the picture does not show %s", want)
		}
	}
}
