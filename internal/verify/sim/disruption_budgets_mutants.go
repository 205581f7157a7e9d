package sim

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// limitedDisruptions are worlds of machines that users and sets delete while budgets exist.
func limitedDisruptions(c *profile) {
	quiet(c)
	c.sets, c.singles, c.viewLag, c.limitsDisruptions = 2, 2, 0, true
	c.cloud.Boot, c.cloud.Stop = 0, 0
}

// disruptionMutants disrupt machines against their budgets.
func disruptionMutants() []Mutation {
	return []Mutation{
		{
			Name: "disruption budgets are not asked", Finds: []string{judge.BudgetAsked},
			Setting: limitedDisruptions, Unlimited: true,
		},
		{
			Name: "a permit is not written before the disruption begins", Finds: []string{judge.BudgetAsked},
			Setting: limitedDisruptions, Permits: func(c client.Client) client.Client { return unwritten{c} },
		},
		{
			Name: "permits are written over those of another process", Finds: []string{judge.BudgetAsked, judge.BudgetPermits}, Dialects: []string{Both},
			Setting: func(c *profile) {
				limitedDisruptions(c)
				c.pausePercent = 60
			},
			Permits: func(c client.Client) client.Client { return unlocked{c} },
		},
		{
			Name: "an emergency stop stops nothing", Finds: []string{judge.BudgetPermits},
			Setting: limitedDisruptions, Permits: func(c client.Client) client.Client {
				return respecced{c, func(b *disruptionBudget) { b.Spec.Paused = false }}
			},
		},
		{
			Name: "a budget permits one disruption too many", Finds: []string{judge.BudgetPermits},
			Setting: limitedDisruptions, Permits: func(c client.Client) client.Client {
				return respecced{c, func(b *disruptionBudget) {
					for i := range b.Spec.Budgets {
						b.Spec.Budgets[i].Nodes.IntVal++
					}
				}}
			},
		},
	}
}

// unlimited asks no budget.
type unlimited struct{ machine.Budgets }

// Ask implements [machine.Budgets].
func (unlimited) Ask(context.Context, client.Object, lifecycle.PermitRequest) lifecycle.Disruption {
	return lifecycle.Disruption{Permitted: true}
}

// Over implements [machine.Budgets].
func (unlimited) Over(context.Context, types.UID) error { return nil }

// unwritten keeps permits in the memory of the process.
type unwritten struct{ client.Client }

// Status implements [client.StatusClient].
func (c unwritten) Status() client.SubResourceWriter { return discarded{c.Client.Status()} }

type discarded struct{ client.SubResourceWriter }

// Patch implements [client.SubResourceWriter].
func (discarded) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// unlocked writes permits without a lock on the version of the budget.
type unlocked struct{ client.Client }

// Status implements [client.StatusClient].
func (c unlocked) Status() client.SubResourceWriter { return overwriting{c.Client.Status()} }

type overwriting struct{ client.SubResourceWriter }

// Patch implements [client.SubResourceWriter].
func (w overwriting) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	delete(patch, "metadata") // the version of the budget
	if data, err = json.Marshal(patch); err != nil {
		return err
	}
	return w.SubResourceWriter.Patch(ctx, o, client.RawPatch(p.Type(), data), opts...)
}

// respecced shows the specs of budgets otherwise than they are.
type respecced struct {
	client.Client
	change func(*disruptionBudget)
}

// List implements [client.Reader].
func (c respecced) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if all, is := list.(*v1alpha1.MachineDisruptionBudgetList); is {
		for i := range all.Items {
			c.change(&all.Items[i])
		}
	}
	return err
}

// Get implements [client.Reader].
func (c respecced) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if b, is := o.(*disruptionBudget); is {
		c.change(b)
	}
	return err
}
