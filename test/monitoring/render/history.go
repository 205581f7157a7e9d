package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// history is what a Prometheus would have stored for the recorded scrapes, with the alerts that fired.
type history struct {
	*tsdb.DB
	engine      *promql.Engine
	first, last time.Time
}

// scrape is one recorded response of one program.
type scrape struct {
	at   time.Time
	job  string
	file string
}

// scrapesIn lists the scrapes of a folder in the order of their times.
func scrapesIn(dir string) ([]scrape, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*-*.txt"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scrapes in %q: %w", dir, err)
	}
	var out []scrape
	for _, file := range files {
		at, job, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), "-")
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, scrape{at: time.Unix(seconds, 0), job: job, file: file})
	}
	slices.SortFunc(out, func(a, b scrape) int { return a.at.Compare(b.at) })
	return out, nil
}

// load stores the scrapes of a folder in a database in dir, and evaluates the rules one time for each time of a scrape.
func load(ctx context.Context, dir, scrapes, ruleFiles string) (*history, error) {
	all, err := scrapesIn(scrapes)
	if err != nil {
		return nil, err
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(dir, nil, nil, options, nil)
	if err != nil {
		return nil, err
	}
	h := &history{DB: db, first: all[0].at, last: all[len(all)-1].at, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e7, Timeout: time.Minute, EnableNegativeOffset: true, LookbackDelta: 5 * time.Minute,
	})}
	groups, err := h.groups(ctx, ruleFiles)
	if err != nil {
		return nil, err
	}
	known := map[string]map[uint64]labels.Labels{}
	for n, s := range all {
		if known[s.job], err = h.store(ctx, s, known[s.job]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.file, err)
		}
		if n+1 < len(all) && all[n+1].at.Equal(s.at) {
			continue
		}
		for _, g := range groups {
			g.Eval(ctx, s.at)
		}
	}
	return h, nil
}

func (h *history) groups(ctx context.Context, pattern string) (map[string]*rules.Group, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no rules in %q: %w", pattern, err)
	}
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(h.engine, h.DB), Appendable: h.DB, Queryable: h.DB, Context: ctx, ExternalURL: &url.URL{},
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	groups, failed := m.LoadGroups(15*time.Second, labels.EmptyLabels(), "", nil, false, files...)
	if len(failed) > 0 {
		return nil, failed[0]
	}
	for _, g := range groups {
		for _, rule := range g.AlertingRules() {
			rule.SetRestored(true) // there is no earlier state to restore
		}
	}
	return groups, nil
}

// store adds one scrape. Series that the job no longer has end, as in Prometheus.
func (h *history) store(ctx context.Context, s scrape, known map[uint64]labels.Labels) (map[uint64]labels.Labels, error) {
	f, err := os.Open(s.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		return nil, err
	}
	app, at := h.Appender(ctx), s.at.UnixMilli()
	now := map[uint64]labels.Labels{}
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(s.at.UnixNano())}, family)
		if err != nil {
			return nil, err
		}
		for _, sample := range samples {
			l := s.labels(sample.Metric)
			now[l.Hash()] = l
			if _, err := app.Append(0, l, at, float64(sample.Value)); err != nil {
				return nil, err
			}
		}
	}
	for hash, l := range known {
		if _, is := now[hash]; !is {
			if _, err := app.Append(0, l, at, math.Float64frombits(value.StaleNaN)); err != nil {
				return nil, err
			}
		}
	}
	return now, app.Commit()
}

// labels returns the labels of a sample, with the labels of its target that it lacks.
func (s scrape) labels(m model.Metric) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set("job", s.job)
	b.Set("instance", s.job)
	for name, v := range m {
		b.Set(string(name), string(v))
	}
	return b.Labels()
}

// instant evaluates a query at the end of the history.
func (h *history) instant(ctx context.Context, query string) (promql.Vector, error) {
	q, err := h.engine.NewInstantQuery(ctx, h.DB, nil, query, h.last)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	v, err := r.Vector()
	return slices.Clone(v), err
}

// over evaluates a query over the whole history.
func (h *history) over(ctx context.Context, query string) (promql.Matrix, error) {
	q, err := h.engine.NewRangeQuery(ctx, h.DB, nil, query, h.first, h.last, 15*time.Second)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	m, err := r.Matrix()
	if err != nil {
		return nil, err
	}
	out := make(promql.Matrix, len(m)) // the engine reuses the matrix that it returned
	for n, s := range m {
		out[n] = promql.Series{Metric: s.Metric, Floats: slices.Clone(s.Floats)}
	}
	return out, nil
}

var _ storage.Queryable = (*history)(nil)
