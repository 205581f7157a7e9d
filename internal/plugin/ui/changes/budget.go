package changes

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/act"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
)

// budget reads a machine disruption budget. The one of `kubectl machine stop` need not exist.
func (p Planner) budget(ctx context.Context, named explain.Subject) (o act.Object, err error) {
	b, err := budgets.Get(ctx, p.Control, named.Name)
	if apierrors.IsNotFound(err) && named.Name == disruption.EmergencyStop {
		return act.Object{Object: disruption.NewStop(""), Absent: true}, nil
	}
	return act.Object{Object: b}, err
}

// planBudget says what a change of a machine disruption budget changes: the API server tries it.
func (p Planner) planBudget(ctx context.Context, of act.Object, c act.Change) (*PlanPage, error) {
	about := forecast.Changed{Object: forecast.Object{API: v1alpha1.GroupName, Kind: v1alpha1.KindMachineDisruptionBudget, Name: of.GetName()}}
	o := of.Object.DeepCopyObject().(client.Object)
	var err error
	switch c.Effect {
	case act.Create:
		about.Verb = forecast.Created
		if o, err = survey.Merged(o, c.Patch); err == nil {
			err = p.Control.Create(ctx, o, client.DryRunAll)
		}
	case act.Delete:
		about.Verb = forecast.Removed
		err = p.Control.Delete(ctx, o, client.DryRunAll)
	default:
		about.Verb = forecast.Edited
		about.Fields, err = fieldsOf(o, c.Patch)
		if err == nil {
			err = p.Control.Patch(ctx, o, client.RawPatch(types.MergePatchType, c.Patch), client.DryRunAll)
		}
	}
	if err != nil {
		return nil, err
	}
	page := &PlanPage{Changes: []forecast.Changed{about}}
	if c.Effect == act.Delete {
		page.Notes = []string{"machines that wait for this budget are drained, updated or rebooted as soon as the other budgets permit it"}
		return page, nil
	}
	page.Notes = []string{"no drain, update in place or reboot begins: rollouts, scale-downs, health checks and deletions by users wait. Forced deletions, and instances whose end the cloud has announced, do not wait"}
	if n, err := permits(ctx, p.Control); err != nil {
		page.Unknown = append(page.Unknown, err.Error())
	} else if n > 0 {
		page.Notes = append(page.Notes, fmt.Sprintf("%d disruptions have begun, and continue", n))
	}
	return page, nil
}

// permits is the number of machines that have a permit of any budget.
func permits(ctx context.Context, control client.Reader) (int, error) {
	all, err := budgets.Read(ctx, control)
	machines := map[types.UID]bool{}
	for i := range all {
		for _, d := range all[i].Status.Disruptions {
			machines[d.UID] = true
		}
	}
	return len(machines), err
}

// fieldsOf are the fields of the spec of a budget that a merge patch changes.
func fieldsOf(o client.Object, patch []byte) (out []forecast.Field, err error) {
	after, err := survey.Merged(o, patch)
	if err != nil {
		return nil, err
	}
	was, is := o.(*v1alpha1.MachineDisruptionBudget).Spec, after.(*v1alpha1.MachineDisruptionBudget).Spec
	for _, f := range []struct {
		path     string
		from, to any
	}{{"spec.paused", was.Paused, is.Paused}, {"spec.message", was.Message, is.Message}, {"spec.selector", was.Selector, is.Selector}} {
		from, _ := json.Marshal(f.from) // values of an object that was read
		to, _ := json.Marshal(f.to)
		if string(from) != string(to) {
			out = append(out, forecast.Field{Path: f.path, From: string(from), To: string(to)})
		}
	}
	return out, nil
}
