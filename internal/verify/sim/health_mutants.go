package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/connectivity"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/provider"
)

// healthSetting makes worlds of nodes that fail, and of checks on them.
func healthSetting(c *profile) {
	c.wider = wider{healthProfile: healthProfile{checks: true, frail: true}, trouble: 15}
	c.deployments, c.sets, c.singles, c.apps = 0, 3, 0, 0
}

// strict makes such worlds, in which every check enforces the lowest rate.
func strict(c *profile) {
	healthSetting(c)
	c.strict = true
}

// apiOutageSetting makes such worlds, in which API servers are also unreachable at times.
func apiOutageSetting(c *profile) {
	healthSetting(c)
	c.outages, c.apart, c.trouble = true, true, 20
}

// shared makes worlds with sets whose deletions users limit and that users resize.
func shared(c *profile) {
	c.wider = wider{healthProfile: healthProfile{shares: true}}
	c.deployments, c.sets, c.singles, c.apps = 0, 3, 0, 0
}

func checkMutants() []Mutation {
	return slices.Concat(budgetMutants(), timerMutants(), choiceMutants())
}

// budgetMutants remedy more machines than allowed.
func budgetMutants() []Mutation {
	return []Mutation{
		{
			Name: "a paused check goes on", Finds: []string{judge.PausedRests}, Setting: healthSetting,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) { v.Paused = false }},
		},
		{
			Name: "what is being remedied does not count", Finds: []string{judge.BudgetKept}, Setting: healthSetting,
			Checks: CheckDefects{Client: oblivious, Forgetful: true},
		},
		{
			Name: "a share of machines is rounded up", Finds: []string{judge.BudgetKept}, Setting: healthSetting,
			Checks: CheckDefects{OfCheck: roundUp},
		},
		{
			Name: "the budget bounds each remedy by itself", Finds: []string{judge.BudgetKept}, Setting: healthSetting,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) { v.MaxUnhealthy = health.Limit{} }},
		},
		{
			Name: "an enforcing breaker reports", Finds: []string{judge.RateKept}, Setting: strict,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) {
				if v.Breaker.Mode == health.Enforce {
					v.Breaker.Mode = health.Report
				}
			}},
		},
	}
}

// timerMutants measure wrong times.
func timerMutants() []Mutation {
	return []Mutation{
		{
			Name: "who is blind remedies what was seen last", Finds: []string{judge.SightedOnly}, Setting: apiOutageSetting,
			Checks: CheckDefects{Sight: func(time.Time, connectivity.State) connectivity.State { return connectivity.State{} }},
		},
		{
			Name: "timers run while nobody watches", Finds: []string{judge.WatchedOnly}, Setting: apiOutageSetting,
			Checks: CheckDefects{Sight: timeless},
		},
		{
			Name: "the timer of a node that comes and goes never starts anew", Finds: []string{judge.HealthyStay}, Setting: healthSetting,
			Checks: CheckDefects{OfPatients: grudge},
		},
		{
			Name: "timers start anew with every pass", Finds: []string{judge.SickGo}, Setting: healthSetting,
			Checks: CheckDefects{Sight: func(now time.Time, _ connectivity.State) connectivity.State {
				return since(now.Add(-2*connectivity.Settle), now)
			}},
		},
	}
}

// choiceMutants remedy machines that they must not remedy, or none.
func choiceMutants() []Mutation {
	return []Mutation{
		{
			Name: "nodes are judged, and machines are not", Finds: []string{judge.SickGo}, Dialects: []string{OpenShift}, Setting: healthSetting,
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) { v.NodesOnly = true }},
		},
		{
			Name: "a check selects machines of any API", Finds: []string{judge.ChosenOnly}, Dialects: []string{Gardener},
			Setting: func(c *profile) { healthSetting(c); c.foreign = true },
			Checks:  CheckDefects{Client: optedIn},
		},
		{
			Name: "machines that people spare are remedied", Finds: []string{judge.ChosenOnly}, Dialects: []string{OpenShift}, Setting: healthSetting,
			Checks: CheckDefects{OfPatients: func() func(*health.Target) {
				return func(t *health.Target) { t.Skip = false }
			}},
		},
		{
			Name: "machines are given up for their health all at once", Finds: []string{judge.OneByOne}, Dialects: []string{Gardener}, Groupless: true,
			Setting: func(c *profile) { healthSetting(c); c.checks, c.groups = false, true },
		},
		{
			Name: "a guard is ignored", Finds: []string{judge.ShareKept}, Setting: shared,
			Set: func(s *replicas.Set) { s.Guard = nil },
		},
	}
}

// roundUp rounds 40 % of 3 up to 2.
func roundUp(c *check, v *health.Check, selected int) {
	if c.Spec.MaxUnhealthy == nil {
		return
	}
	digits, percent := strings.CutSuffix(c.Spec.MaxUnhealthy.Text(), "%")
	if n, err := strconv.Atoi(digits); percent && err == nil {
		v.MaxUnhealthy, _ = health.ParseLimit(fmt.Sprint((n*selected + 99) / 100))
	}
}

// since is a state without an outage between two times.
func since(from, to time.Time) connectivity.State {
	s := connectivity.Begin(from, connectivity.Policy{Timeout: looks.Timeout, Interval: 24 * time.Hour}, connectivity.Control, connectivity.Target)
	return looking(looking(s, from, connectivity.Reachable), to, connectivity.Reachable)
}

// looking is the state after one more probe, in which all clusters gave the same answer.
func looking(s connectivity.State, at time.Time, a connectivity.Answer) connectivity.State {
	return s.After(connectivity.Probe{At: at, Answers: map[connectivity.Cluster]connectivity.Answer{connectivity.Control: a, connectivity.Target: a}})
}

// timeless keeps only the last outage of s, and shortens it to a moment.
func timeless(now time.Time, s connectivity.State) connectivity.State {
	if !s.Connected() || s.Frozen(now) != "" || s.Since().IsZero() {
		return s
	}
	out := since(epoch.Add(-time.Hour), s.Since().Add(-2))
	return looking(looking(looking(out, s.Since().Add(-1), connectivity.Unreachable), s.Since(), connectivity.Reachable), now, connectivity.Reachable)
}

// grudge remembers when the node of each machine was first unhealthy.
func grudge() func(*health.Target) {
	first := map[types.UID]time.Time{}
	return func(t *health.Target) {
		if t.Node == nil {
			return
		}
		for _, c := range t.Node.Conditions {
			if was := first[t.UID]; c.Status != "True" && (was.IsZero() || c.Since.Before(was)) {
				first[t.UID] = c.Since
			}
		}
		for i := range t.Node.Conditions {
			if at := first[t.UID]; !at.IsZero() {
				t.Node.Conditions[i].Since = at
			}
		}
	}
}

// editing changes or hides the objects that are read.
type editing struct {
	client.Client
	edit func(client.Object) (hide bool)
}

// Get implements [client.Reader].
func (c editing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if err == nil && c.edit(o) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return err
}

// List implements [client.Reader].
func (c editing) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	var kept []runtime.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		if o = o.DeepCopyObject(); !c.edit(o.(client.Object)) {
			kept = append(kept, o)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return meta.SetList(list, kept)
}

// oblivious hides machines that are being deleted, and the memory of a check.
func oblivious(c client.Client, live client.Reader) (client.Client, client.Reader) {
	return editing{c, func(o client.Object) bool {
		if c, ok := o.(*check); ok {
			dialect.SetAnnotation(c, dialect.RemediationsAnnotation, "")
		}
		_, isNode := o.(*corev1.Node)
		return !isNode && o.GetDeletionTimestamp() != nil
	}}, live
}

// optedIn reads every check as a check that selects machines of the other API.
func optedIn(c client.Client, live client.Reader) (client.Client, client.Reader) {
	return editing{c, func(o client.Object) bool {
		if c, ok := o.(*check); ok {
			dialect.SetAnnotation(c, dialect.MachineAPIAnnotation, provider.Gardener)
		}
		return false
	}}, live
}
