package pages

import (
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Budget is what the page about a machine disruption budget shows.
type Budget struct {
	budgets.Row
	// Causes are what the budget permits now for each cause.
	Causes []Cause `json:"causes"`
	// Permits are the machines that have one, the oldest first; Cut says how many more there are.
	Permits []Permit `json:"permits"`
	Cut     int      `json:"cut,omitempty"`
}

// Cause is what a budget permits for one cause.
type Cause struct {
	Reason v1alpha1.DisruptionReason `json:"reason"`
	// Allowed is how many machines may have a permit; nil: any number.
	Allowed *int `json:"allowed,omitempty"`
	InUse   int  `json:"inUse"`
}

// Permit is the permit of a machine.
type Permit struct {
	explain.Subject
	// Reason is empty if the cause is unknown.
	Reason v1alpha1.DisruptionReason `json:"reason,omitempty"`
	Since  time.Time                 `json:"since"`
}

// mostPermits is how many permits the page lists.
const mostPermits = 200

// BudgetOf is the page about a budget, with an answer for its head.
func BudgetOf(now time.Time, o *v1alpha1.MachineDisruptionBudget) (explain.Answer, *Budget) {
	p := &Budget{Row: budgets.RowOf(now, o), Permits: []Permit{}}
	b := budgets.Parse(o)
	for _, r := range v1alpha1.DisruptionReasons {
		c := Cause{Reason: r}
		if n, limited := b.Allowed(now, r, p.Machines); limited {
			c.Allowed = &n
		}
		for _, d := range o.Status.Disruptions {
			if d.Reason == r {
				c.InUse++
			}
		}
		p.Causes = append(p.Causes, c)
	}
	for _, d := range o.Status.Disruptions {
		if len(p.Permits) == mostPermits {
			p.Cut = len(o.Status.Disruptions) - mostPermits
			break
		}
		s := explain.Subject{API: d.API, Kind: "Machine", Namespace: d.Namespace, Name: d.Name}
		p.Permits = append(p.Permits, Permit{Subject: s, Reason: d.Reason, Since: d.Since.Time})
	}
	a := explain.Answer{Subject: p.Subject, State: p.State, Sentence: "Machine disruption budget " + o.Name + " " + p.Sentence, Next: next(p)}
	if p.Message != "" {
		a.Because = []explain.Cause{{Source: "spec.message", Message: p.Message}}
	}
	return a, p
}

func next(b *Budget) string {
	switch {
	case b.Stops && b.Name == disruption.EmergencyStop:
		return "`kubectl machine resume` ends the stop"
	case b.Stops:
		return "change the budget: `kubectl edit machinedisruptionbudget " + b.Name + "`"
	}
	return ""
}

// NoBudget is the answer about a budget that does not exist.
func NoBudget(name string) explain.Answer {
	a := explain.Answer{Subject: budgets.Subject(name), State: explain.Unknown, Reason: explain.ReasonNotFound, Sentence: "Machine disruption budget " + name + " does not exist"}
	if name == disruption.EmergencyStop {
		a.State, a.Sentence = explain.Healthy, "No emergency stop: voluntary disruptions of machines begin, as far as other budgets permit them"
		a.Next = "in an emergency: `kubectl machine stop --message \"why\"`"
	}
	return a
}

// Selecting is a budget that selects a machine.
type Selecting struct {
	budgets.Row
	// Holds says that the machine has its permit, for the cause Reason, since Held.
	Holds  bool                      `json:"holds,omitempty"`
	Reason v1alpha1.DisruptionReason `json:"reason,omitempty"`
	Held   time.Time                 `json:"held,omitzero"`
}

// SelectingOf are the budgets that select a machine, in the order of their names; none for other objects.
func SelectingOf(now time.Time, all []v1alpha1.MachineDisruptionBudget, d collect.Detail) (out []Selecting) {
	if d.Kind != "Machine" {
		return nil
	}
	for i := range all {
		if !budgets.Parse(&all[i]).Selects(d.Object.GetLabels()) {
			continue
		}
		s := Selecting{Row: budgets.RowOf(now, &all[i])}
		for _, p := range all[i].Status.Disruptions {
			if p.UID == d.Object.GetUID() {
				s.Holds, s.Reason, s.Held = true, p.Reason, p.Since.Time
			}
		}
		out = append(out, s)
	}
	return out
}
