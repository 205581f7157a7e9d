package disruption

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
)

// Kind is the kind of the budgets.
var Kind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindMachineDisruptionBudget)

// Client returns a client for budgets, without a cache.
func Client(c *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(c, client.Options{Scheme: scheme})
}

// store reads and writes budgets.
type store struct {
	client client.Client
	clock  clock.PassiveClock
	// unserved is since when the API server has not served the kind; zero: it serves it.
	unserved time.Time
}

const (
	// unservedFor is how long the API server must not have served the kind until its CRD counts as deleted: a server that
	// has just started may not know all kinds yet.
	unservedFor = time.Minute
	// maxTries bounds the attempts to write a budget that other processes write, too.
	maxTries = 6
)

// read reads all budgets, in the order of their names. Without the kind the list is empty.
func (s *store) read(ctx context.Context) ([]v1alpha1.MachineDisruptionBudget, error) {
	var list v1alpha1.MachineDisruptionBudgetList
	err := s.client.List(ctx, &list)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		now := s.clock.Now()
		if s.unserved.IsZero() {
			s.unserved = now
		}
		if now.Sub(s.unserved) >= unservedFor {
			return nil, nil
		}
		return nil, err
	}
	if s.unserved = (time.Time{}); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.MachineDisruptionBudget) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

// selecting returns the budgets that select the machine.
func (s *store) selecting(ctx context.Context, m client.Object) ([]v1alpha1.MachineDisruptionBudget, error) {
	all, err := s.read(ctx)
	return slices.DeleteFunc(all, func(b v1alpha1.MachineDisruptionBudget) bool {
		return !disruption.Parse(&b, time.LoadLocation).Selects(m.GetLabels())
	}), err
}

// again reads a budget again. It is granted if the budget does not exist, or does not select the machine, any more.
func (s *store) again(ctx context.Context, b *v1alpha1.MachineDisruptionBudget, m client.Object) (granted bool, err error) {
	var now v1alpha1.MachineDisruptionBudget
	err = s.client.Get(ctx, client.ObjectKeyFromObject(b), &now)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read it: %w", err)
	}
	*b = now
	return !disruption.Parse(b, time.LoadLocation).Selects(m.GetLabels()), nil
}

// write writes the status of a budget. It fails if the budget has changed.
func (s *store) write(ctx context.Context, before, after *v1alpha1.MachineDisruptionBudget) error {
	return s.client.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// release removes the permit of a machine from one budget.
func (s *store) release(ctx context.Context, name string, machine types.UID) (err error) {
	for range maxTries {
		var b v1alpha1.MachineDisruptionBudget
		if err = s.client.Get(ctx, client.ObjectKey{Name: name}, &b); err != nil {
			return client.IgnoreNotFound(err)
		}
		if !disruption.Holds(&b.Status, machine) {
			return nil
		}
		after := b.DeepCopy()
		disruption.Release(&after.Status, machine)
		disruption.Summarize(&after.Status, disruption.Parse(&b, time.LoadLocation), b.Generation, s.clock.Now())
		if err = s.write(ctx, &b, after); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
	return fmt.Errorf("write disruption budget %s: %w", name, err)
}

// releaseAll removes the permits of a machine.
func (s *store) releaseAll(ctx context.Context, machine types.UID) error {
	budgets, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("read the disruption budgets: %w", err)
	}
	for _, b := range budgets {
		if disruption.Holds(&b.Status, machine) {
			if err := s.release(ctx, b.Name, machine); err != nil {
				return err
			}
		}
	}
	return nil
}

// giveBack removes the permits of budgets that were asked in vain. A permit that cannot be removed stays: the machine holds it when it
// asks again.
func (s *store) giveBack(ctx context.Context, machine types.UID, budgets []string) {
	for _, name := range budgets {
		_ = s.release(ctx, name, machine)
	}
}
