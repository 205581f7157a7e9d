package live

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
)

// limits are the machine disruption budgets.
type limits struct {
	// watched says that a watch has them. Otherwise the API server is asked, at most every leasesAge.
	watched bool
	read    time.Time
	all     []v1alpha1.MachineDisruptionBudget
	rows    []budgets.Row
	// news says that the rows have changed since they were sent. err is the last failure.
	news bool
	err  error
}

// readBudgets reads the budgets. If they cannot be read, the known ones stay, and the failure is returned.
func (f *feed) readBudgets(ctx context.Context, now time.Time) error {
	f.mu.Lock()
	fresh := !f.limits.watched && !f.limits.read.IsZero() && now.Sub(f.limits.read) < leasesAge
	f.mu.Unlock()
	var all []v1alpha1.MachineDisruptionBudget
	var err error
	if !fresh {
		all, err = budgets.Read(ctx, f.clusters.Control)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !fresh {
		f.limits.read, f.limits.err = now, err
		if err == nil {
			f.limits.all = all
		}
	}
	var rows []budgets.Row
	for i := range f.limits.all {
		rows = append(rows, budgets.RowOf(now, &f.limits.all[i]))
	}
	slices.SortStableFunc(rows, func(a, b budgets.Row) int { return cmp.Compare(severity(a), severity(b)) })
	f.limits.news = f.limits.news || !reflect.DeepEqual(rows, f.limits.rows)
	f.limits.rows = rows
	return f.limits.err
}

// severity orders budgets: first those that stop everything.
func severity(r budgets.Row) int {
	switch {
	case r.Stops && r.Selector == "":
		return 0
	case r.Stops:
		return 1
	}
	return 2
}

// Budgets are the machine disruption budgets, as they were last read.
func (f *Fleet) Budgets() []v1alpha1.MachineDisruptionBudget {
	if f.feed == nil {
		return nil
	}
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	return f.feed.limits.all
}
