package machineset

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// propagate brings living machines in step with the template, where the API
// group wants that.
func (p *pass[S]) propagate(ctx context.Context) error {
	if p.set.Deleting {
		return nil
	}
	var stale []client.Object
	for _, m := range p.machines {
		if m.GetDeletionTimestamp() == nil && p.lens.Propagate(p.object, m, true) {
			stale = append(stale, m)
		}
	}
	changed, err := p.patchEach(ctx, stale, change{
		doing: "update machine from the template",
		apply: func(m client.Object) { p.lens.Propagate(p.object, m, false) },
	})
	p.replace(changed)
	return err
}

// keepFailed decides for the set which failed machines to keep for inspection.
func (p *pass[S]) keepFailed(ctx context.Context) error {
	if p.set.Deleting || p.preserver == nil {
		return nil
	}
	want := map[string]bool{}
	for _, c := range replicas.AutoKeep(p.set, p.members) {
		want[c.Name] = c.Keep
	}
	if len(want) == 0 {
		return nil
	}
	chosen := slices.DeleteFunc(slices.Clone(p.machines), func(m client.Object) bool {
		_, ok := want[m.GetName()]
		return !ok
	})
	changed, err := p.patchEach(ctx, chosen, change{
		doing: "keep failed machine",
		apply: func(m client.Object) { p.preserver.PreserveMachine(m, want[m.GetName()]) },
	})
	p.replace(changed)
	if err != nil {
		return err
	}
	return p.view(ctx)
}

// replace puts machines as they were written in the place of those observed.
func (p *pass[S]) replace(written []client.Object) {
	for _, w := range written {
		i := slices.IndexFunc(p.machines, func(m client.Object) bool { return m.GetUID() == w.GetUID() })
		if i >= 0 {
			p.machines[i] = w
		}
	}
}
