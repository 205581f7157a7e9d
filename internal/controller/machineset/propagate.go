package machineset

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// settle brings the existing machines up to date. As long as that fails, their number is uncertain, and
// nothing is created or deleted.
func (r *observation[S]) settle(ctx context.Context) error {
	return errors.Join(r.propagate(ctx), r.keepFailed(ctx))
}

// propagate updates living machines from the template, if the API group wants that.
func (r *observation[S]) propagate(ctx context.Context) error {
	if r.set.Deleting {
		return nil
	}
	var stale []client.Object
	for _, m := range r.machines {
		if m.GetDeletionTimestamp() == nil && !r.inStep.knows(r.object, m) && r.lens.Propagate(r.object, m, true) {
			stale = append(stale, m)
		}
	}
	r.inStep.note(r.object, r.machines, stale)
	changed, err := r.patchEach(ctx, stale, change{
		doing: "update machine from the template",
		apply: func(m client.Object) { r.lens.Propagate(r.object, m, false) },
	})
	r.replace(changed)
	return err
}

// inStep are the machines that were found to match the template of their set: to compare a thousand
// machines in each pass costs more than the rest of the pass.
type inStep struct {
	// set is the version of the set, machines those of its machines.
	set      string
	machines map[types.UID]string
}

// knows reports whether this version of the machine was compared with this version of the set.
func (s *inStep) knows(set, m client.Object) bool {
	return s.set == set.GetResourceVersion() && s.machines[m.GetUID()] == m.GetResourceVersion()
}

// note enters that all machines except these were compared.
func (s *inStep) note(set client.Object, machines, but []client.Object) {
	s.set, s.machines = set.GetResourceVersion(), make(map[types.UID]string, len(machines))
	for _, m := range machines {
		s.machines[m.GetUID()] = m.GetResourceVersion()
	}
	for _, m := range but {
		delete(s.machines, m.GetUID())
	}
}

// keepFailed decides for the set which failed machines to keep for inspection.
func (r *observation[S]) keepFailed(ctx context.Context) error {
	if r.set.Deleting || r.preserver == nil {
		return nil
	}
	want := map[string]bool{}
	for _, c := range replicas.AutoKeep(r.set, r.members) {
		want[c.Name] = c.Keep
	}
	if len(want) == 0 {
		return nil
	}
	chosen := slices.DeleteFunc(slices.Clone(r.machines), func(m client.Object) bool {
		_, ok := want[m.GetName()]
		return !ok
	})
	changed, err := r.patchEach(ctx, chosen, change{
		doing: "keep failed machine",
		apply: func(m client.Object) { r.preserver.PreserveMachine(m, want[m.GetName()]) },
	})
	r.replace(changed)
	if err != nil {
		return err
	}
	return r.view(ctx)
}

// replace puts the written machines in place of the observed ones.
func (r *observation[S]) replace(written []client.Object) {
	for _, w := range written {
		i := slices.IndexFunc(r.machines, func(m client.Object) bool { return m.GetUID() == w.GetUID() })
		if i >= 0 {
			r.machines[i] = w
		}
	}
}
