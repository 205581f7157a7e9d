package cloud

import (
	"context"
	"fmt"
	"maps"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kubeapi"
)

var _ provider.Maintainer = &session{}

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return kubeapi.Proven(s, ref, i) && len(s.owed(ref, i)) > 0
}

// labels is where a virtual machine has its labels, annotations where it has its notes.
const (
	inLabels      = "labels"
	inAnnotations = "annotations"
)

// owed is what an instance lacks of what it was made with, and whether it ran, by where that is. Who owns it nothing changes.
func (s *session) owed(ref provider.Ref, i provider.Instance) map[string]map[string]string {
	o := s.marks(ref)
	o.Owner = ""
	notes := o.Annotations()
	if i.State == provider.Running {
		notes[noteRan] = "true"
	}
	owed := map[string]map[string]string{inLabels: s.machineLabels(ref), inAnnotations: notes}
	for where, wanted := range owed {
		maps.DeleteFunc(wanted, func(key, value string) bool { return i.Tags[key] == value })
		if len(wanted) == 0 {
			delete(owed, where)
		}
	}
	return owed
}

// Maintain implements [provider.Maintainer]: labels and notes of virtual machines. The labels of an instance that runs stay as they are.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if !kubeapi.Proven(s, ref, i) {
		return nil
	}
	merge := map[string]any{}
	for where, what := range s.owed(ref, i) {
		merge[where] = what
	}
	if len(merge) == 0 {
		return nil
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := (errand{s, c}).change(ctx, i, map[string]any{"metadata": merge}); err != nil {
		return fmt.Errorf("mend the labels of virtual machine %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}
