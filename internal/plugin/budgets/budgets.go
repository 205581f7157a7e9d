// Package budgets reads MachineDisruptionBudgets for users, and answers what they permit. The kind is optional: without it there are
// no budgets.
package budgets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the time zones of budgets: not every machine has a zone database

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
)

// Read reads all budgets, in the order of their names; none if the cluster does not have the kind.
func Read(ctx context.Context, c client.Reader) ([]v1alpha1.MachineDisruptionBudget, error) {
	var list v1alpha1.MachineDisruptionBudgetList
	err := c.List(ctx, &list)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the machine disruption budgets: %w", err)
	}
	out := slices.Clone(list.Items) // a list of a watch is shared
	slices.SortFunc(out, func(a, b v1alpha1.MachineDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// ErrNotInstalled says that the cluster does not have the kind.
var ErrNotInstalled = errors.New("the cluster has no machine disruption budgets: install them with `kubectl apply -k config/disruption-budgets`")

// Get reads one budget.
func Get(ctx context.Context, c client.Reader, name string) (*v1alpha1.MachineDisruptionBudget, error) {
	b := &v1alpha1.MachineDisruptionBudget{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, b)
	if meta.IsNoMatchError(err) {
		return nil, ErrNotInstalled
	}
	if err != nil {
		return nil, fmt.Errorf("read the machine disruption budget: %w", err)
	}
	return b, nil
}

// Subject names a budget.
func Subject(name string) explain.Subject {
	return explain.Subject{API: v1alpha1.GroupName, Kind: v1alpha1.KindMachineDisruptionBudget, Name: name}
}

// Parse reads a budget.
func Parse(b *v1alpha1.MachineDisruptionBudget) disruption.Budget {
	return disruption.Parse(b, time.LoadLocation)
}

// Machine is a machine that is to be disrupted.
type Machine struct {
	UID    types.UID
	Labels map[string]string
}

// Ask asks all budgets that select the machine, in the order of their names, for one disruption. It takes no permit. The answer is the
// first refusal.
func Ask(now time.Time, all []v1alpha1.MachineDisruptionBudget, m Machine, reason disruption.Reason) disruption.Answer {
	for i := range all {
		b, status := Parse(&all[i]), &all[i].Status
		if !b.Selects(m.Labels) {
			continue
		}
		ask := disruption.Ask{Reason: reason, Holds: disruption.Holds(status, m.UID)}
		if a := b.Decide(now, disruption.UseOf(status, now), ask); !a.Granted {
			return a
		}
	}
	return disruption.Answer{Granted: true}
}

// Limits are the budgets for a forecast.
func Limits(now time.Time, all []v1alpha1.MachineDisruptionBudget) (out []forecast.Limit) {
	for i := range all {
		l := forecast.Limit{Budget: Parse(&all[i]), Use: disruption.UseOf(&all[i].Status, now), Holders: map[types.UID]bool{}}
		for _, d := range all[i].Status.Disruptions {
			l.Holders[d.UID] = true
		}
		out = append(out, l)
	}
	return out
}
