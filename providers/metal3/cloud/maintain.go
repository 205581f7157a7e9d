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
	labels, notes := s.missing(ref, i)
	return kubeapi.Proven(s, ref, i) && len(labels)+len(notes) > 0
}

// missing returns the ownership labels and annotations that an instance lacks. The owner is never changed.
func (s *session) missing(ref provider.Ref, i provider.Instance) (labels, notes map[string]string) {
	marks := s.marks(ref)
	marks.Owner = ""
	labels, notes = marks.Labels(), marks.Annotations()
	for _, wanted := range []map[string]string{labels, notes} {
		maps.DeleteFunc(wanted, func(key, value string) bool { return i.Tags[key] == value })
	}
	return labels, notes
}

// Maintain implements [provider.Maintainer]: it restores the ownership labels and annotations of a host.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if !s.Unkept(ref, i) {
		return nil
	}
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	labels, notes := s.missing(ref, i)
	c := call{s, client}
	h, err := c.hostOf(ctx, i)
	if err == nil {
		err = c.patch(ctx, h, map[string]any{"labels": labels, "annotations": notes}, map[string]any{})
	}
	if err != nil {
		return fmt.Errorf("restore the labels of host %s of %s: %w", i.ID, ref.Name, s.observe(err))
	}
	return nil
}
