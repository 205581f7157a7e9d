package cloud

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

// Our tags: users' values under these keys are ignored.
const (
	ourPrefix    = "millwright.dev/"
	uidTag       = ourPrefix + "machine-uid"
	namespaceTag = ourPrefix + "machine-namespace"
	ownerTag     = ourPrefix + "owner"
	roleTag      = ourPrefix + "machine-role"
	hostTag      = ourPrefix + "dedicated-host" // that was allocated for the instance
)

// nameTag is the tag in which both originals have the machine's name.
const nameTag = "Name"

// The values of a cluster's tag, as each original writes them.
const (
	owned  = "owned"
	oneTag = "1"
)

func (s ownership) clusterKey() string { return spec.ClusterTagPrefix + s.class.Cluster }

// userTags are those of users, from the spec, and of the cluster; the spec's win. Tags of the owner are
// never taken from them.
func (s ownership) userTags(users map[string]string) map[string]string {
	tags := maps.Clone(s.cluster.tags)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, users)
	maps.DeleteFunc(tags, func(key, _ string) bool {
		foreign := s.class.API == provider.OpenShift && strings.HasPrefix(key, spec.ClusterTagPrefix)
		return key == nameTag || foreign || strings.HasPrefix(key, ourPrefix)
	})
	return tags
}

// ownershipTags are the tags by which instances of the class are listed.
func (s ownership) ownershipTags() map[string]string {
	if s.class.API == provider.OpenShift {
		return map[string]string{s.clusterKey(): owned}
	}
	tags := map[string]string{}
	if !slices.ContainsFunc(s.plan.keys, func(key string) bool { return strings.HasPrefix(key, spec.ClusterTagPrefix) }) {
		tags[s.clusterKey()] = oneTag
	}
	return tags
}

// tagsOf are those of a resource that is created for a machine, with tags of users.
func (s ownership) tagsOf(users map[string]string, ref provider.Ref, role string) map[string]string {
	tags := s.userTags(users)
	maps.Copy(tags, s.ownershipTags())
	for key, value := range map[string]string{nameTag: ref.Name, uidTag: ref.UID, namespaceTag: ref.Namespace, ownerTag: s.class.Owner, roleTag: role} {
		if value != "" {
			tags[key] = value
		}
	}
	return tags
}

// listed returns tags in order: a repeated request has to be the same request.
func listed(tags map[string]string) (out []types.Tag) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}

func tagged(tags map[string]string, kinds ...types.ResourceType) (out []types.TagSpecification) {
	for _, kind := range kinds {
		out = append(out, types.TagSpecification{ResourceType: kind, Tags: listed(tags)})
	}
	return out
}

func mapOf(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, t := range tags {
		out[deref(t.Key)] = deref(t.Value)
	}
	return out
}

// scope are the filters for the class's ownership scope. In one API that is the cluster's tag, of either
// original; in the other all keys that the spec's tags have for it.
func (s ownership) scope() []types.Filter {
	if s.class.API == provider.OpenShift {
		return []types.Filter{{Name: aws.String("tag:" + s.clusterKey()), Values: []string{owned, oneTag}}}
	}
	var keys []string
	if s.plan != nil {
		keys = slices.Clone(s.plan.keys)
		keys = append(keys, slices.Sorted(maps.Keys(s.ownershipTags()))...)
	} else {
		keys = []string{s.clusterKey()}
	}
	var out []types.Filter
	for _, key := range keys {
		out = append(out, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
	}
	return out
}

func where(name string, values ...string) types.Filter {
	return types.Filter{Name: aws.String(name), Values: values}
}
