package machineset

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
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
		if m.GetDeletionTimestamp() == nil && !p.inStep.knows(p.object, m) && p.lens.Propagate(p.object, m, true) {
			stale = append(stale, m)
		}
	}
	p.inStep.note(p.object, p.machines, stale)
	changed, err := p.patchEach(ctx, stale, change{
		doing: "update machine from the template",
		apply: func(m client.Object) { p.lens.Propagate(p.object, m, false) },
	})
	p.replace(changed)
	return err
}

// inStep are the machines that were found in step with the template of their set: to
// compare a thousand with it in each pass costs more than all else of a pass.
type inStep struct {
	// set is the version of the set, machines those of its machines.
	set      string
	machines map[types.UID]string
}

// knows reports whether the machine as it is was compared with the set as it is.
func (s *inStep) knows(set, m client.Object) bool {
	return s.set == set.GetResourceVersion() && s.machines[m.GetUID()] == m.GetResourceVersion()
}

// note enters that all machines but those were compared.
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
