package cloud

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

var _ provider.LeftoverLister = &session{}

// Leftovers implements [provider.LeftoverLister]: secrets, data volumes and claims of machines without a
// virtual machine.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		stopped := errors.New("the caller has stopped")
		err = call{s, c}.leftovers(ctx, func(l provider.Leftover) error {
			if !yield(l, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(provider.Leftover{}, fmt.Errorf("list leftovers of virtual machines: %w", s.observe(err)))
		}
	}
}

func (c call) leftovers(ctx context.Context, yield func(provider.Leftover) error) error {
	selector := kubeapi.LabelCluster + "=" + kubeapi.LabelValue(c.class.Cluster)
	var found []dependant
	// Dependants first: those created meanwhile have no virtual machine yet.
	err := eachDependant(ctx, c.client, selector, func(p dependant) error {
		if p.meta.DeletionTimestamp == nil && p.meta.Labels[kubeapi.LabelUID] != "" {
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	living := map[string]bool{}
	for v, err := range virtualMachines.List(ctx, c.client, c.client.Namespace, selector) {
		if err != nil {
			return err
		}
		living[v.Labels[kubeapi.LabelUID]] = true
	}
	for _, p := range found {
		o := marksOn(p.meta)
		if living[o.UID] {
			continue
		}
		l := provider.Leftover{Kind: p.kind, ID: p.meta.Name, UID: o.UID, Name: p.meta.Annotations[kubeapi.NoteName], Owner: o.Owner, Namespace: o.Namespace}
		if err := yield(l); err != nil {
			return err
		}
	}
	return nil
}
