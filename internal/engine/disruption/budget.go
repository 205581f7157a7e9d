package disruption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Reason is the cause of a disruption; empty: unknown.
type Reason = v1alpha1.DisruptionReason

// Budget is the spec of a MachineDisruptionBudget, as it was read.
type Budget struct {
	Name     string
	selector labels.Selector
	paused   bool
	message  string
	limits   []limit
	// faults are the invalid fields. A budget with faults permits nothing.
	faults []string
}

// limit is one entry of spec.budgets.
type limit struct {
	nodes   amount
	reasons []Reason
	// window and query say when the limit applies; nil: always.
	window *window
	query  *query
}

// active reports whether the limit applies now, and until when; zero: that is unknown.
func (l *limit) active(now time.Time) (ends time.Time, active bool) {
	if l.window != nil {
		if ends = l.window.ends(now); ends.IsZero() {
			return ends, false
		}
	}
	return ends, l.query.applies(now)
}

// amount is a number of machines, or a percentage of them.
type amount struct {
	n       int
	percent bool
}

// of returns the amount out of a number of machines. A percentage is rounded up: 10% of 5 machines are 1 machine.
func (a amount) of(machines int) int {
	if !a.percent {
		return a.n
	}
	return (machines*a.n + 99) / 100
}

// window is the time from each begin of a schedule, for a duration.
type window struct {
	schedule Schedule
	duration time.Duration
	zone     *time.Location
}

// ends returns when the window that is open now ends; zero: none is open.
func (w *window) ends(now time.Time) time.Time {
	begin := w.schedule.latest(now, w.duration, w.zone)
	if begin.IsZero() || !now.Before(begin.Add(w.duration)) {
		return time.Time{}
	}
	return begin.Add(w.duration)
}

// Zones returns the time zone of a name.
type Zones func(name string) (*time.Location, error)

// longestWindow bounds the duration of a window.
const longestWindow = 366 * 24 * time.Hour

// Parse reads a budget, with the stored answers to its queries.
func Parse(b *v1alpha1.MachineDisruptionBudget, zones Zones) Budget {
	out := Budget{Name: b.Name, paused: b.Spec.Paused, message: strings.TrimSpace(b.Spec.Message)}
	selector, err := metav1.LabelSelectorAsSelector(&b.Spec.Selector)
	if err != nil {
		out.faults, selector = append(out.faults, "spec.selector: "+err.Error()), labels.Everything()
	}
	out.selector = selector
	for i, e := range b.Spec.Budgets {
		l, faults := parseLimit(e, zones)
		for _, f := range faults {
			out.faults = append(out.faults, fmt.Sprintf("spec.budgets[%d].%s", i, f))
		}
		l.query = queryOf(e.Query, b.Status.Queries)
		out.limits = append(out.limits, l)
	}
	return out
}

// parseLimit reads one entry. Each fault begins with its field.
func parseLimit(e v1alpha1.Budget, zones Zones) (l limit, faults []string) {
	fault := func(field string, err error) {
		if err != nil {
			faults = append(faults, field+": "+err.Error())
		}
	}
	var err error
	l.nodes, err = parseAmount(e.Nodes)
	fault("nodes", err)
	l.reasons = e.Reasons
	for _, r := range e.Reasons {
		if !slices.Contains(v1alpha1.DisruptionReasons, r) {
			fault("reasons", fmt.Errorf("%q is unknown", r))
		}
	}
	if e.Schedule == "" && e.Duration == nil && e.TimeZone == "" {
		return l, faults
	}
	w := &window{zone: time.UTC}
	w.schedule, err = ParseSchedule(e.Schedule)
	fault("schedule", err)
	if e.Duration != nil {
		w.duration = e.Duration.Duration
	}
	if w.duration <= 0 || w.duration > longestWindow {
		fault("duration", fmt.Errorf("must be between 1m and %s", longestWindow))
	}
	if e.TimeZone != "" {
		w.zone, err = zones(e.TimeZone)
		fault("timeZone", err)
	}
	l.window = w
	return l, faults
}

func parseAmount(v intstr.IntOrString) (amount, error) {
	text, percent := strings.CutSuffix(v.String(), "%")
	n, err := strconv.ParseUint(text, 10, 31)
	switch {
	case err != nil, percent && v.Type == intstr.Int:
		return amount{}, fmt.Errorf("%q must be a number, or a percentage between 0%% and 100%%", v.String())
	case percent && n > 100:
		return amount{}, fmt.Errorf("%q is more than 100%%", v.String())
	}
	return amount{n: int(n), percent: percent}, nil
}

// Selects reports whether the budget is about a machine with the labels. A budget with an invalid selector is about all
// machines.
func (b Budget) Selects(machine map[string]string) bool {
	return b.selector.Matches(labels.Set(machine))
}

// Faults returns the invalid fields, each with its error; empty if the budget is valid.
func (b Budget) Faults() string { return strings.Join(b.faults, "; ") }

// about reports whether the limit is about a cause. An unknown cause may be any voluntary one.
func (l limit) about(r Reason) bool {
	switch {
	case len(l.reasons) == 0:
		return r != v1alpha1.ReasonInterruption
	case r == "":
		return slices.ContainsFunc(l.reasons, func(o Reason) bool { return o != v1alpha1.ReasonInterruption })
	}
	return slices.Contains(l.reasons, r)
}
