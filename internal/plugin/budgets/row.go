package budgets

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// Row is one budget, as pages and tables show it.
type Row struct {
	// ID is the object's UID.
	ID string `json:"id"`
	explain.Subject
	State explain.State `json:"state"`
	// Sentence says what the budget permits now.
	Sentence string `json:"sentence"`
	Message  string `json:"message,omitempty"`
	// Selector is the selector of machines; empty: all machines.
	Selector string `json:"selector,omitempty"`
	// Stops says that no voluntary disruption of the selected machines begins until a user changes the budget. Since is
	// when that began; zero if it is unknown.
	Stops bool      `json:"stops,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Machines are the selected machines with a node, InUse those that have a permit.
	Machines int     `json:"machines"`
	InUse    int     `json:"inUse"`
	Limits   []Limit `json:"limits,omitempty"`
}

// Limit is one limit of a budget.
type Limit struct {
	// Nodes is the limit as declared, Allowed is the number of machines.
	Nodes   string                      `json:"nodes"`
	Allowed int                         `json:"allowed"`
	Reasons []v1alpha1.DisruptionReason `json:"reasons,omitempty"`
	// Schedule has the schedule with its duration and time zone; empty: the limit always applies.
	Schedule string `json:"schedule,omitempty"`
	// Zone is the time zone of the schedule, as the database of time zones spells it; empty without a schedule.
	Zone string `json:"zone,omitempty"`
	// Query is the PromQL query while which the limit applies; empty: it has none. Unanswered says why its answer is unknown; then the
	// limit applies.
	Query      string `json:"query,omitempty"`
	Unanswered string `json:"unanswered,omitempty"`
	// Active says that it applies now, until Ends. Otherwise it applies from Begins on.
	Active bool      `json:"active,omitempty"`
	Ends   time.Time `json:"ends,omitzero"`
	Begins time.Time `json:"begins,omitzero"`
}

// RowOf is the row of a budget at the time now.
func RowOf(now time.Time, o *v1alpha1.MachineDisruptionBudget) Row {
	b, use := Parse(o), disruption.UseOf(&o.Status, now)
	r := Row{
		ID: string(o.UID), Subject: Subject(o.Name), State: explain.Healthy, Message: o.Spec.Message, Selector: b.Selector(),
		Machines: use.Machines, InUse: use.InUse, Limits: limits(now, o, b, use.Machines),
	}
	faults := b.Faults()
	switch r.Stops = o.Spec.Paused || faults != ""; {
	case faults != "":
		r.State, r.Sentence = explain.Failed, "is invalid and permits nothing: "+faults
	case o.Spec.Paused:
		r.State, r.Sentence = explain.Waiting, "stops all voluntary disruption of "+of(b)
	default:
		r.Sentence = permits(r)
	}
	if r.Stops && o.Generation == 1 { // the spec has not changed since the object was created
		r.Since = o.CreationTimestamp.Time
	}
	return r
}

func of(b disruption.Budget) string {
	if b.SelectsAll() {
		return "machines"
	}
	return "machines with " + b.Selector()
}

// permits says what a valid budget permits now.
func permits(r Row) string {
	tightest := -1
	for i, l := range r.Limits {
		if l.Active && (tightest < 0 || l.Allowed < r.Limits[tightest].Allowed) {
			tightest = i
		}
	}
	if tightest < 0 {
		return "limits nothing now"
	}
	l := r.Limits[tightest]
	out := fmt.Sprintf("permits %d disruptions at a time", l.Allowed)
	switch l.Allowed {
	case 0:
		out = "permits no disruption"
	case 1:
		out = "permits 1 disruption at a time"
	}
	if len(l.Reasons) > 0 {
		out += " for " + words(l.Reasons)
	}
	if !l.Ends.IsZero() {
		out += " until " + l.in(l.Ends)
	}
	switch {
	case l.Unanswered != "":
		out += ", because the answer to its Prometheus query is unknown (" + l.Unanswered + ")"
	case l.Query != "":
		out += " while its Prometheus query returns samples"
	}
	return fmt.Sprintf("%s; %d of %d machines are under disruption", out, r.InUse, r.Machines)
}

// in is a time in the time zone of the limit, with its date: "Mon 2 Jan 2006, 15:04 Europe/Berlin".
func (l Limit) in(at time.Time) string {
	zone, err := time.LoadLocation(l.Zone)
	if err != nil || l.Zone == "" {
		return at.UTC().Format(time.RFC3339)
	}
	return at.In(zone).Format("Mon 2 Jan 2006, 15:04 ") + l.Zone
}

func words(reasons []v1alpha1.DisruptionReason) (out string) {
	for i, r := range reasons {
		if i > 0 {
			out += ", "
		}
		out += string(r)
	}
	return out
}

func limits(now time.Time, o *v1alpha1.MachineDisruptionBudget, b disruption.Budget, machines int) (out []Limit) {
	if b.Faults() != "" {
		return nil
	}
	for i, s := range b.Limits(now, machines) {
		e := o.Spec.Budgets[i]
		l := Limit{Nodes: e.Nodes.String(), Allowed: s.Allowed, Reasons: e.Reasons, Query: e.Query, Unanswered: s.Unanswered, Active: s.Active, Ends: s.Ends, Begins: s.Begins}
		if e.Schedule != "" {
			l.Schedule = fmt.Sprintf("%s for %s, %s", e.Schedule, short(e.Duration.Duration), zoneOf(e))
			l.Zone = zoneOf(e)
		}
		out = append(out, l)
	}
	return out
}

// short is a duration as users write it: "8h", not "8h0m0s".
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func zoneOf(e v1alpha1.Budget) string {
	if e.TimeZone == "" {
		return "UTC"
	}
	return e.TimeZone
}
