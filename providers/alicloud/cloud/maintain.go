package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return s.plan != nil && len(ownership{s}.missingTags(ref, i)) > 0
}

// Maintain implements [provider.Maintainer]: it restores tags.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.plan == nil {
		return nil
	}
	c, err := s.on(ctx)
	if err != nil {
		return s.observe("open the account", err)
	}
	return ownership{s}.restoreTags(ctx, c, i.ID, ownership{s}.missingTags(ref, i))
}

// missingTags are the missing or changed tags of an instance: those of the spec, of the cluster, and of the
// machine. The recorded owner is never changed.
func (s ownership) missingTags(ref provider.Ref, i provider.Instance) map[string]string {
	want := s.userTags()
	maps.Copy(want, s.ownershipTags())
	if s.class.API == provider.OpenShift {
		maps.Copy(want, originTags)
	}
	maps.DeleteFunc(want, func(key, value string) bool { return i.Tags[key] == value })
	for key, value := range s.identity(ref) {
		if i.Tags[key] == "" {
			want[key] = value
		}
	}
	if name, tagged := s.identity(ref)[nameTag]; tagged && i.Tags[nameTag] != name && i.UID == ref.UID {
		want[nameTag] = name
	}
	return want
}

// mostTags is the number of tags in a request of ECS.
const mostTags = 20

// restoreTags writes tags. After a final refusal it tries again only after a while.
func (s ownership) restoreTags(ctx context.Context, c *client, id string, tags map[string]string) error {
	if len(tags) == 0 {
		return nil
	}
	return c.refusals.Try(ctx, id+fmt.Sprint(tags), func(ctx context.Context) (err error) {
		for keys := range slices.Chunk(slices.Sorted(maps.Keys(tags)), mostTags) {
			in := &ecs.TagResourcesRequest{RegionId: &c.region, ResourceType: dara.String("instance"), ResourceId: []*string{&id}}
			for _, key := range keys {
				in.Tag = append(in.Tag, &ecs.TagResourcesRequestTag{Key: &key, Value: dara.String(tags[key])})
			}
			if _, err = call(ctx, c, (*ecs.Client).TagResourcesWithContext, in); err != nil {
				break
			}
		}
		return classify("write tags of "+id, err, s.plan.names)
	})
}
