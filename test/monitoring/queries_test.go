package monitoring

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// metric is a row of docs/metrics.md.
type metric struct {
	kind   string
	labels []string
}

// catalog has the known metrics, by name.
type catalog map[string]metric

// targets are the labels that Prometheus adds to every series of a target.
var targets = []string{"cluster", "container", "endpoint", "instance", "job", "namespace", "pod", "service"}

// foreign are the metrics of other programs: kube_node_info of kube-state-metrics, ALERTS of Prometheus.
var foreign = catalog{
	"kube_node_info": {"gauge", []string{"node"}},
	"ALERTS":         {"gauge", []string{"alertname", "alertstate", "severity", "namespace", "name"}},
}

const repository = "../.."

func read(t *testing.T, elements ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{repository}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var row = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

// served returns the metrics of docs/metrics.md. A test of the main module compares that page with the programs.
func served(t *testing.T) catalog {
	t.Helper()
	out := maps.Clone(foreign)
	for _, found := range row.FindAllStringSubmatch(read(t, "docs", "metrics.md"), -1) {
		out[found[1]] = metric{found[2], strings.FieldsFunc(found[3], func(r rune) bool { return r == ',' || r == ' ' })}
	}
	if len(out) < 100 {
		t.Fatalf("docs/metrics.md has only %d metrics that can be read", len(out))
	}
	return out
}

// find returns the metric of a series. A histogram has three series with suffixes, and none with its own name.
func (c catalog) find(series string) (metric, error) {
	if m, known := c[series]; known {
		if m.kind == "histogram" {
			return m, fmt.Errorf("%s is a histogram: only its _bucket, _sum and _count are scraped", series)
		}
		return m, nil
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if m := c[strings.TrimSuffix(series, suffix)]; strings.HasSuffix(series, suffix) && m.kind == "histogram" {
			if suffix == "_bucket" {
				m.labels = append([]string{labels.BucketLabel}, m.labels...)
			}
			return m, nil
		}
	}
	return metric{}, fmt.Errorf("no program serves %s", series)
}

// question is a query under check.
type question struct {
	catalog catalog
	errors  []error
}

// check parses a query, and returns the labels of its result and all errors.
func (c catalog) check(query string) (result []string, problems []error) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil, []error{err}
	}
	q := &question{catalog: c}
	result = q.labels(expr)
	return result, q.errors
}

func (q *question) fail(format string, args ...any) {
	q.errors = append(q.errors, fmt.Errorf(format, args...))
}

// labels walks an expression from the metrics up: each part may use the labels of the part below.
func (q *question) labels(e parser.Expr) []string {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return q.selected(e)
	case *parser.MatrixSelector:
		return q.labels(e.VectorSelector)
	case *parser.SubqueryExpr:
		return q.labels(e.Expr)
	case *parser.ParenExpr:
		return q.labels(e.Expr)
	case *parser.StepInvariantExpr:
		return q.labels(e.Expr)
	case *parser.UnaryExpr:
		return q.labels(e.Expr)
	case *parser.AggregateExpr:
		return q.aggregated(e)
	case *parser.BinaryExpr:
		return q.joined(e)
	case *parser.Call:
		return q.called(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return nil
	}
	q.fail("a %T is not understood here", e)
	return nil
}

func (q *question) selected(e *parser.VectorSelector) (has []string) {
	for _, name := range names(e) {
		m, err := q.catalog.find(name)
		if err != nil {
			q.errors = append(q.errors, err)
			continue
		}
		of := append(slices.Clone(m.labels), targets...)
		for _, matcher := range e.LabelMatchers {
			if matcher.Name != labels.MetricName {
				q.need(name, of, matcher.Name)
			}
		}
		has = append(has, of...)
	}
	return has
}

// names returns the metrics of a selector: one, or the alternatives of an expression.
func names(e *parser.VectorSelector) []string {
	for _, matcher := range e.LabelMatchers {
		if matcher.Name == labels.MetricName && matcher.Type == labels.MatchRegexp {
			return strings.Split(matcher.Value, "|")
		}
	}
	return []string{e.Name}
}

func (q *question) need(of string, has []string, wanted ...string) {
	for _, name := range wanted {
		if !slices.Contains(has, name) {
			q.fail("%s has no label %s", of, name)
		}
	}
}

func (q *question) aggregated(e *parser.AggregateExpr) []string {
	has := q.labels(e.Expr)
	q.need(e.Expr.String(), has, e.Grouping...)
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
		return has
	case e.Without:
		return slices.DeleteFunc(has, func(name string) bool { return slices.Contains(e.Grouping, name) })
	}
	return e.Grouping
}

func (q *question) joined(e *parser.BinaryExpr) []string {
	left, right := q.labels(e.LHS), q.labels(e.RHS)
	if e.VectorMatching == nil || e.LHS.Type() != parser.ValueTypeVector || e.RHS.Type() != parser.ValueTypeVector {
		return append(left, right...)
	}
	v := e.VectorMatching
	q.need(e.LHS.String(), left, v.MatchingLabels...)
	q.need(e.RHS.String(), right, v.MatchingLabels...)
	switch {
	case e.Op == parser.LOR:
		return append(left, right...)
	case v.Card == parser.CardManyToOne:
		q.need(e.RHS.String(), right, v.Include...)
		return append(left, v.Include...)
	case v.Card == parser.CardOneToMany:
		q.need(e.LHS.String(), left, v.Include...)
		return append(right, v.Include...)
	case e.Op == parser.LAND || e.Op == parser.LUNLESS || !v.On:
		return left
	}
	return v.MatchingLabels
}

// ofCounters are the functions that need counters.
var ofCounters = []string{"rate", "increase", "irate"}

func (q *question) called(e *parser.Call) (has []string) {
	for _, arg := range e.Args {
		has = append(has, q.labels(arg)...)
		if m, is := arg.(*parser.MatrixSelector); is && slices.Contains(ofCounters, e.Func.Name) {
			name := m.VectorSelector.(*parser.VectorSelector).Name
			if q.catalog[name].kind == "gauge" {
				q.fail("%s of %s, and %s is a gauge", e.Func.Name, name, name)
			}
		}
	}
	switch e.Func.Name {
	case "absent", "absent_over_time":
		return nil // except for matchers with equality, which no query here uses
	case "histogram_quantile":
		q.need(e.String(), has, labels.BucketLabel)
		return slices.DeleteFunc(has, func(name string) bool { return name == labels.BucketLabel })
	case "label_replace", "label_join":
		q.fail("%s makes labels, which is not understood here", e.Func.Name)
	}
	return has
}

// TestCheckCatches: check finds a reference to a missing metric or label in each part of a query.
func TestCheckCatches(t *testing.T) {
	c := catalog{
		"a_total": {"counter", []string{"name", "reason"}}, "b": {"gauge", []string{"name", "node"}},
		"h_seconds": {"histogram", []string{"verb"}}, "up_to": {"gauge", nil},
	}
	for _, r := range []struct {
		reason, query, objection string
		result                   []string
	}{
		{"all of it is there", `sum by (name) (rate(a_total{reason!=""}[5m])) / on (name) b`, "", []string{"name"}},
		{"a metric that no program serves", `c > 0`, "no program serves c", nil},
		{"one below a function", `sum(rate(c_total[5m]))`, "no program serves c_total", nil},
		{"a label to select by", `b{phase="x"}`, "b has no label phase", nil},
		{"a label to group by", `sum by (phase) (b)`, "b has no label phase", nil},
		{"a label that was summed away", `sum by (node) (sum by (name) (b))`, "has no label node", nil},
		{"a label to match on, on the left", `up_to and on (name) b`, "up_to has no label name", nil},
		{"a label to match on, on the right", `b unless on (node) a_total`, "a_total has no label node", nil},
		{"a label to take over", `b * on (name) group_left (phase) a_total`, "a_total has no label phase", nil},
		{"a label that is taken over", `b * on (name) group_left (reason) a_total`, "", []string{"name", "node", "reason"}},
		{"a label that is left out", `sum without (node) (b)`, "", []string{"name"}},
		{"the buckets of a histogram", `histogram_quantile(0.9, sum by (le) (rate(h_seconds_bucket[5m])))`, "", nil},
		{"a quantile without buckets", `histogram_quantile(0.9, sum by (verb) (rate(h_seconds_bucket[5m])))`, "has no label le", nil},
		{"a histogram by its bare name", `h_seconds`, "is a histogram", nil},
		{"the count of what is no histogram", `b_count`, "no program serves b_count", nil},
		{"a label of the target", `max by (pod, instance) (b)`, "", []string{"instance", "pod"}},
		{"one of several metrics", `{__name__=~"b|c"}`, "no program serves c", nil},
		{"no query", `sum by (`, "parse error", nil},
		{"a rate of a gauge", `rate(b[5m])`, "b is a gauge", nil},
	} {
		result, problems := c.check(r.query)
		text := fmt.Sprint(problems)
		if (len(problems) > 0) != (r.objection != "") || !strings.Contains(text, r.objection) {
			t.Errorf("%s: %s, want %q", r.reason, text, r.objection)
		}
		if r.result != nil && !covers(result, r.result) {
			t.Errorf("%s: the result has the labels %v, want %v", r.reason, result, r.result)
		}
	}
}

// covers reports whether the labels are the given ones, ignoring the labels of targets.
func covers(has, want []string) bool {
	has = slices.DeleteFunc(slices.Clone(has), func(name string) bool { return slices.Contains(targets, name) && !slices.Contains(want, name) })
	slices.Sort(has)
	return slices.Equal(slices.Compact(has), want)
}
