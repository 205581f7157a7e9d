package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is a dashboard of Grafana, as far as a query or a reader is concerned.
type dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
}

type variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Query any    `json:"query"`
}

type panel struct {
	ID          int               `json:"id"`
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Datasource  map[string]string `json:"datasource"`
	Grid        struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
		Ref    string `json:"refId"`
	} `json:"targets"`
	Panels []panel `json:"panels"`
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "config", "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	out := map[string]dashboard{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = d
	}
	if len(out) < 3 {
		t.Fatalf("there are only %d dashboards", len(out))
	}
	return out
}

// all are the panels with those that are folded away in rows.
func (d dashboard) all() (out []panel) {
	for _, p := range d.Panels {
		out = append(append(out, p), p.Panels...)
	}
	return out
}

var (
	reference = regexp.MustCompile(`\$\{?(\w+)\}?`)
	told      = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
	asked     = regexp.MustCompile(`^label_values\((?:(.+), *)?(\w+)\)$`)
)

// builtIn are the variables that Grafana fills in, with something that they may stand for.
var builtIn = map[string]string{"__rate_interval": "5m", "__range": "1h", "__interval": "1m"}

// filled is a query as Grafana sends it, with what the dashboard does not declare.
func (d dashboard) filled(query string) (text string, unknown []string) {
	text = reference.ReplaceAllStringFunc(query, func(found string) string {
		name := reference.FindStringSubmatch(found)[1]
		if with, is := builtIn[name]; is {
			return with
		}
		if !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == name }) {
			unknown = append(unknown, name)
		}
		return ".*"
	})
	return text, unknown
}

// TestDashboardQueries: every query of every panel asks for what programs serve, and its legend for labels that it leaves.
func TestDashboardQueries(t *testing.T) {
	c := served(t)
	for file, d := range dashboards(t) {
		for _, p := range d.all() {
			for _, target := range p.Targets {
				query, unknown := d.filled(target.Expr)
				for _, name := range unknown {
					t.Errorf("%s, %s: nothing fills in $%s", file, p.Title, name)
				}
				has, problems := c.check(query)
				for _, problem := range problems {
					t.Errorf("%s, %s: %v", file, p.Title, problem)
				}
				for _, label := range told.FindAllStringSubmatch(target.Legend, -1) {
					if !slices.Contains(has, label[1]) {
						t.Errorf("%s, %s: its legend tells the label %s, which the query does not leave", file, p.Title, label[1])
					}
				}
			}
		}
	}
}

// TestDashboardVariables: the values to choose from come from labels that programs serve.
func TestDashboardVariables(t *testing.T) {
	c := served(t)
	for file, d := range dashboards(t) {
		if !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == "datasource" && v.Type == "datasource" }) {
			t.Errorf("%s lets nobody choose the Prometheus", file)
		}
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			query, _ := v.Query.(string)
			found := asked.FindStringSubmatch(query)
			if found == nil {
				t.Errorf("%s: $%s asks %v, which is not understood here", file, v.Name, v.Query)
				continue
			}
			text, _ := d.filled(found[1])
			if e, err := parser.NewParser(parser.Options{}).ParseExpr(text); err == nil {
				if _, is := e.(*parser.VectorSelector); !is { // Grafana hands it to an endpoint that takes nothing else
					t.Errorf("%s: $%s asks for the labels of more than a selector", file, v.Name)
				}
			}
			has, problems := c.check(text)
			for _, problem := range problems {
				t.Errorf("%s: $%s: %v", file, v.Name, problem)
			}
			if !slices.Contains(has, found[2]) {
				t.Errorf("%s: $%s: %s has no label %s", file, v.Name, found[1], found[2])
			}
		}
	}
}

// TestDashboardsCanBeRead: each panel says what it shows, is of the Prometheus that is chosen, and covers no other.
func TestDashboardsCanBeRead(t *testing.T) {
	uids := map[string]string{}
	for file, d := range dashboards(t) {
		if other, taken := uids[d.UID]; taken || d.UID == "" || d.Title == "" {
			t.Errorf("%s: uid %q (taken by %q), title %q", file, d.UID, other, d.Title)
		}
		uids[d.UID] = file
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.all() {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d %q: its id is taken, or it has no title", file, p.ID, p.Title)
			}
			ids[p.ID] = true
			for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
				for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
					if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
						t.Fatalf("%s: %q lies outside, or on %q", file, p.Title, other)
					}
					cells[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			if len(p.Targets) == 0 || strings.TrimSpace(p.Description) == "" || p.Datasource["uid"] != "${datasource}" {
				t.Errorf("%s: %q has no query, no description, or a Prometheus of its own", file, p.Title)
			}
		}
	}
}
