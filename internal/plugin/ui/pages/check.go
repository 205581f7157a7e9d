package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// Check is what the page about a health check shows: its machines, its budget, its breaker, and what its controller
// would remediate now.
type Check struct {
	Expected int `json:"expected"`
	Healthy  int `json:"healthy"`
	// Missing machines were remediated and are not replaced yet. Max is how many may be unhealthy.
	Missing   int  `json:"missing,omitempty"`
	Max       int  `json:"max"`
	Remaining int  `json:"remaining"`
	Allowed   bool `json:"allowed"`
	// MaxUnhealthy is the declared limit; empty: without a limit.
	MaxUnhealthy string `json:"maxUnhealthy,omitempty"`
	Remediation  string `json:"remediation"`
	// Sentence is the decision, Doubts why verdicts wait.
	Sentence string   `json:"sentence"`
	Doubts   []string `json:"doubts,omitempty"`
	Breaker  Breaker  `json:"breaker"`
	// Machines are those that are not healthy, Cut says how many more there are.
	Machines []CheckedMachine `json:"machines"`
	Cut      int              `json:"cut,omitempty"`
	// Recent are remediations that have begun, the newest first.
	Recent []Remedied `json:"recent,omitempty"`
}

// Breaker has the settings and the state of the storm breaker.
type Breaker struct {
	Mode       string   `json:"mode"`
	Rate       string   `json:"rate"`
	StormShare int      `json:"stormShare"`
	Cooldown   string   `json:"cooldown"`
	Storms     []string `json:"storms,omitempty"`
}

// CheckedMachine is a machine that is not healthy, with what the check does about it.
type CheckedMachine struct {
	explain.Subject
	State   string `json:"state"`
	Message string `json:"message"`
	// Due is when the verdict changes without an event; zero if it does not.
	Due time.Time `json:"due,omitzero"`
	// Act is empty if the machine does not have to be remediated now; Why says what is done, or why nothing is.
	Act  string `json:"act,omitempty"`
	Why  string `json:"why,omitempty"`
	Hold string `json:"hold,omitempty"`
}

// Remedied is a remediation that has begun.
type Remedied struct {
	Machine string    `json:"machine"`
	At      time.Time `json:"at"`
}

// mostChecked is how many machines of a health check the page lists.
const mostChecked = 200

// CheckOf is the page about a health check; nil for other objects.
func CheckOf(d collect.Detail) *Check {
	c := d.Cohort
	if c == nil {
		return nil
	}
	plan := c.Plan
	p := &Check{
		Expected: plan.Expected, Healthy: plan.Healthy, Missing: plan.Missing, Max: plan.Max, Remaining: plan.Remaining, Allowed: plan.Allowed,
		Remediation: string(c.Check.Remediation), Sentence: plan.Sentence, Breaker: breakerPage(c.Check.Breaker, plan.Storms),
	}
	if limit := c.Check.MaxUnhealthy; limit != (health.Limit{}) {
		p.MaxUnhealthy = limit.String()
	}
	for _, text := range []string{plan.Blind, plan.Doubt, plan.Distrust.Text} {
		if text != "" {
			p.Doubts = append(p.Doubts, text)
		}
	}
	p.Machines = checkedMachines(d)
	if p.Cut = len(p.Machines) - mostChecked; p.Cut > 0 {
		p.Machines = p.Machines[:mostChecked]
	}
	p.Cut = max(0, p.Cut)
	for _, past := range slices.Backward(c.Past) {
		p.Recent = append(p.Recent, Remedied{past.Name, past.At})
	}
	p.Recent = p.Recent[:min(len(p.Recent), mostChecked)]
	return p
}

func breakerPage(b health.Breaker, storms []health.Storm) Breaker {
	p := Breaker{Mode: string(b.Mode), Rate: b.Rate.String(), StormShare: b.StormShare, Cooldown: b.Cooldown.String()}
	for _, s := range storms {
		if s.Over.IsZero() {
			p.Storms = append(p.Storms, fmt.Sprintf("%d of %d machines of %s are unhealthy", s.Sick, s.Total, s.Group))
			continue
		}
		p.Storms = append(p.Storms, fmt.Sprintf("%s had a storm until %s", s.Group, s.Over.UTC().Format(time.RFC3339)))
	}
	return p
}

// checkedMachines are the machines that are not healthy: first those to remediate, in the order of the plan.
func checkedMachines(d collect.Detail) (out []CheckedMachine) {
	c, cases := d.Cohort, map[string]bool{}
	machine := func(t health.Target, v health.Verdict) CheckedMachine {
		s := explain.Subject{API: c.API, Kind: "Machine", Namespace: t.Namespace, Name: t.Name}
		return CheckedMachine{Subject: s, State: string(v.State), Message: v.Message, Due: v.Due}
	}
	for _, one := range c.Plan.Cases {
		m := machine(one.Target, one.Verdict)
		m.Act, m.Why, m.Hold = string(one.Act), one.Why, one.Hold
		cases[one.Target.Name] = true
		out = append(out, m)
	}
	rest := len(out)
	for _, j := range c.Machines {
		if j.Verdict.State != health.Healthy && !cases[j.Target.Name] {
			out = append(out, machine(j.Target, j.Verdict))
		}
	}
	slices.SortFunc(out[rest:], func(a, b CheckedMachine) int { return strings.Compare(a.Name, b.Name) })
	return out
}
