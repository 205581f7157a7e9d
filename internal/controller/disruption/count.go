package disruption

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
)

// count is a number of machines that a budget selects.
type count struct {
	generation int64
	machines   int32
	at         time.Time
}

// countFor is how long a number is used: a list of 10,000 machines takes some 10 ms.
const countFor = 5 * time.Second

// fleet is the machines that this process sees.
type fleet[M client.Object] struct {
	Options[M]
	// counts are the numbers of machines that budgets select.
	counts map[string]count
}

// observe stores the number of machines in the status of a budget.
func (f *fleet[M]) observe(ctx context.Context, b *v1alpha1.MachineDisruptionBudget, parsed disruption.Budget) error {
	now := f.Clock.Now()
	c, known := f.counts[b.Name]
	if !known || c.generation != b.Generation || now.Sub(c.at) > countFor {
		n, err := f.count(ctx, parsed)
		if err != nil {
			return err
		}
		c = count{generation: b.Generation, machines: n, at: now}
		f.counts[b.Name] = c
	}
	o := v1alpha1.ObservedMachines{API: f.Dialect.API(), Namespace: f.Namespace, Machines: c.machines, At: metav1.NewTime(now.Truncate(time.Second))}
	if disruption.Stale(&b.Status, o) {
		disruption.Observe(&b.Status, o)
	}
	return nil
}

// count returns the number of machines whose node has joined: machines without one have no work to disrupt.
func (f *fleet[M]) count(ctx context.Context, b disruption.Budget) (n int32, err error) {
	list := f.Dialect.NewList()
	if err := f.Cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		return 0, fmt.Errorf("count the machines: %w", err)
	}
	for m := range dialect.Items[M](list) {
		if b.Selects(m.GetLabels()) && f.Dialect.View(m).HasJoined() {
			n++
		}
	}
	return n, nil
}
