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
	labels, notes := s.owed(ref, i)
	return kubeapi.Proven(s, ref, i) && len(labels)+len(notes) > 0
}

// owed are the marks that an instance lacks. Who owns it nothing changes.
func (s *session) owed(ref provider.Ref, i provider.Instance) (labels, notes map[string]string) {
	marks := s.marks(ref)
	marks.Owner = ""
	labels, notes = marks.Labels(), marks.Annotations()
	for _, wanted := range []map[string]string{labels, notes} {
		maps.DeleteFunc(wanted, func(key, value string) bool { return i.Tags[key] == value })
	}
	return labels, notes
}

// Maintain implements [provider.Maintainer]: the marks of a host.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if !s.Unkept(ref, i) {
		return nil
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	labels, notes := s.owed(ref, i)
	e := errand{s, c}
	h, err := e.still(ctx, i)
	if err == nil {
		err = e.write(ctx, h, map[string]any{"labels": labels, "annotations": notes}, map[string]any{})
	}
	if err != nil {
		return fmt.Errorf("mend the marks of host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}
