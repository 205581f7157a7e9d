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
	return kubeapi.Proven(s, ref, i) && len(s.missing(ref, i)) > 0
}

// The fields of metadata that labels and annotations are in.
const (
	inLabels      = "labels"
	inAnnotations = "annotations"
)

// missing returns the labels and annotations that an instance should have and lacks, by field of metadata.
// The owner is never changed.
func (s *session) missing(ref provider.Ref, i provider.Instance) map[string]map[string]string {
	o := s.marks(ref)
	o.Owner = ""
	notes := o.Annotations()
	if i.State == provider.Running {
		notes[annotationRan] = "true"
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

// Maintain implements [provider.Maintainer]: it restores labels and annotations of virtual machines. The
// labels of a running instance stay as they are.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if !kubeapi.Proven(s, ref, i) {
		return nil
	}
	merge := map[string]any{}
	for where, what := range s.missing(ref, i) {
		merge[where] = what
	}
	if len(merge) == 0 {
		return nil
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := (call{s, c}).change(ctx, i, map[string]any{"metadata": merge}); err != nil {
		return fmt.Errorf("restore the labels of virtual machine %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}
