package cloud

import (
	"context"
	"fmt"
	"maps"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return s.plan != nil && len(ownership{s}.missingLabels(ref, i)) > 0
}

// Maintain implements [provider.Maintainer]: it restores labels.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	c, err := s.client(ctx)
	if err != nil {
		return err
	}
	return ownership{s}.restoreLabels(ctx, c, ref, i)
}

// missingLabels are the missing or changed labels of an instance: those of the spec, of the cluster, and of
// the machine. The recorded owner is never changed.
func (s ownership) missingLabels(ref provider.Ref, i provider.Instance) map[string]string {
	want := s.userLabels()
	maps.Copy(want, s.ownershipLabels())
	maps.DeleteFunc(want, func(key, value string) bool {
		has, ok := i.Tags[key]
		return ok && has == value
	})
	for key, value := range s.identity(ref, i.NodeName) {
		if i.Tags[key] == "" {
			want[key] = value
		}
	}
	return want
}

// restoreLabels writes the labels that the instance lacks now. Compute Cloud replaces all labels at once, so
// that a change at the same moment is lost. After a final refusal it tries again only after a while.
func (s ownership) restoreLabels(ctx context.Context, c *client, ref provider.Ref, i provider.Instance) error {
	lacks := s.missingLabels(ref, i)
	if len(lacks) == 0 {
		return nil
	}
	return c.refusals.Try(ctx, i.ID+fmt.Sprint(lacks), func(ctx context.Context) error { return s.writeLabels(ctx, c, ref, i.ID) })
}

func (s ownership) writeLabels(ctx context.Context, c *client, ref provider.Ref, id string) error {
	now, err := c.instances.Get(ctx, &compute.GetInstanceRequest{InstanceId: id})
	if err != nil {
		return classify("read instance "+id, err)
	}
	lacks := s.missingLabels(ref, finder(s).toInstance(c, now))
	if len(lacks) == 0 {
		return nil
	}
	labels := maps.Clone(now.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, lacks)
	_, err = c.instances.Update(ctx, &compute.UpdateInstanceRequest{InstanceId: id, Labels: labels, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"labels"}}})
	return classify("write labels of "+id, err)
}
