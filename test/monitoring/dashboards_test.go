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

// dashboard is a dashboard of Grafana, with the fields that queries and users need.
type dashboard struct {
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name  string `json:"name"`
			Expr  string `json:"expr"`
			Title string `json:"titleFormat"`
			Text  string `json:"textFormat"`
		} `json:"list"`
	} `json:"annotations"`
	Links []link `json:"links"`
}

// link is a link of a dashboard or a panel to a page.
type link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
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
	Links  []link  `json:"links"`
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

// all returns the panels, including those in collapsed rows.
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

// builtIn are the variables that Grafana sets, with an example value.
var builtIn = map[string]string{"__rate_interval": "5m", "__range": "1h", "__interval": "1m"}

// filled returns a query as Grafana sends it, and the variables that the dashboard does not declare.
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

// TestDashboardQueries: every query of every panel uses metrics that programs serve, and its legend uses labels in the result.
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

// TestDashboardAnnotations: the marks on the time axis use series that programs serve.
func TestDashboardAnnotations(t *testing.T) {
	c := served(t)
	for file, d := range dashboards(t) {
		if len(d.Annotations.List) == 0 {
			t.Errorf("%s marks nothing", file)
		}
		for _, a := range d.Annotations.List {
			query, unknown := d.filled(a.Expr)
			has, problems := c.check(query)
			for _, label := range told.FindAllStringSubmatch(a.Title+a.Text, -1) {
				if !slices.Contains(has, label[1]) {
					t.Errorf("%s, %s: names the label %s, which the query does not leave", file, a.Name, label[1])
				}
			}
			if len(unknown)+len(problems) > 0 {
				t.Errorf("%s, %s: unknown variables %v, problems %v", file, a.Name, unknown, problems)
			}
		}
	}
}

// runbookURL is the published folder of the runbooks.
const runbookURL = "https://github.com/millwright-dev/millwright/blob/main/docs/runbooks/"

// TestDashboardLinks: links lead to existing runbooks, and each dashboard has some.
func TestDashboardLinks(t *testing.T) {
	for file, d := range dashboards(t) {
		all, n := d.Links, 0
		for _, p := range d.all() {
			all = append(all, p.Links...)
		}
		for _, l := range all {
			name, ours := strings.CutPrefix(l.URL, runbookURL)
			if !ours {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(repository, "docs", "runbooks", name)); err != nil {
				t.Errorf("%s: link %q: %v", file, l.Title, err)
			}
		}
		if n < 5 {
			t.Errorf("%s has only %d links to runbooks", file, n)
		}
	}
}

// TestDashboardsObeyTheirNamespace: if a dashboard has a variable for namespaces, metrics with a namespace use it.
func TestDashboardsObeyTheirNamespace(t *testing.T) {
	c := served(t)
	for file, d := range dashboards(t) {
		if !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == "namespace" }) {
			continue
		}
		for _, p := range d.all() {
			for _, target := range p.Targets {
				for _, metric := range selected.FindAllStringSubmatch(target.Expr, -1) {
					if slices.Contains(c[metric[1]].labels, "namespace") && !strings.Contains(metric[2], `namespace=~"$namespace"`) {
						t.Errorf("%s, %s: %s is of all namespaces", file, p.Title, metric[1])
					}
					if totals.MatchString(metric[1]) {
						t.Errorf("%s, %s: %s has no namespace, so the number is of all: millwright_machines has one", file, p.Title, metric[1])
					}
				}
			}
		}
	}
}

// totals matches the numbers of objects that the originals serve without a namespace.
var totals = regexp.MustCompile(`_items(_total)?$`)

// selected matches metrics with their selectors.
var selected = regexp.MustCompile(`\b((?:mapi|mcm|millwright|machine)_\w+)(\{[^}]*\})?`)

// TestDashboardVariables: the values of variables come from labels that programs serve.
func TestDashboardVariables(t *testing.T) {
	c := served(t)
	for file, d := range dashboards(t) {
		if !slices.ContainsFunc(d.Templating.List, func(v variable) bool { return v.Name == "datasource" && v.Type == "datasource" }) {
			t.Errorf("%s has no variable for the Prometheus", file)
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
				if _, is := e.(*parser.VectorSelector); !is { // Grafana sends it to an endpoint that accepts only selectors
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

// TestDashboardsCanBeRead: each panel has a description, uses the chosen Prometheus, and covers no other panel.
func TestDashboardsCanBeRead(t *testing.T) {
	uids := map[string]string{}
	for file, d := range dashboards(t) {
		if other, taken := uids[d.UID]; taken || d.UID == "" || d.Title == "" {
			t.Errorf("%s: uid %q (taken by %q), title %q", file, d.UID, other, d.Title)
		}
		uids[d.UID] = file
		ids, titles, cells := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
		for _, p := range d.all() {
			if ids[p.ID] || p.Title == "" {
				t.Errorf("%s: panel %d %q: its id is taken, or it has no title", file, p.ID, p.Title)
			}
			ids[p.ID] = true
			if titles[p.Title] || p.Title != strings.TrimSpace(p.Title) {
				t.Errorf("%s: the title %q is there twice, or has blanks around it", file, p.Title)
			}
			titles[p.Title] = true
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
