package ui

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/plugin/act"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/ui/pages"
)

// budgetPage is the page about a machine disruption budget.
func (s *Server) budgetPage(ctx context.Context, now time.Time, name string) Page {
	p := Page{At: now}
	b, err := budgets.Get(ctx, s.fleet.Clusters.Control, name)
	switch {
	case apierrors.IsNotFound(err):
		p.Answer, p.Actions = pages.NoBudget(name), s.budgetActions(now, act.Object{Object: named(name), Absent: true})
		return p
	case err != nil:
		p.Error = err.Error()
		return p
	}
	p.UID, p.YAML = string(b.UID), yamlOf(b)
	p.Answer, p.Budget = pages.BudgetOf(now, b)
	p.Actions = s.budgetActions(now, act.Object{Object: b})
	return p
}

// named is a budget that has only a name.
func named(name string) *v1alpha1.MachineDisruptionBudget {
	b := &v1alpha1.MachineDisruptionBudget{}
	b.Name = name
	return b
}

func (s *Server) budgetActions(now time.Time, o act.Object) []act.Offer {
	if s.options.ActionLog == nil {
		return nil
	}
	return act.Offers(now, o)
}
