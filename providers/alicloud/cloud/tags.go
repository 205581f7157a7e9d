package cloud

import (
	"maps"
	"slices"
	"strings"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// Our tags: users' values under these keys are ignored. ECS allows 20 tags on an instance.
const (
	ourPrefix    = "millwright.dev/"
	uidTag       = ourPrefix + "machine-uid"
	namespaceTag = ourPrefix + "machine-namespace"
	ownerTag     = ourPrefix + "owner"
	roleTag      = ourPrefix + "machine-role"
	machineTag   = ourPrefix + "machine-name" // only if the machine's name is no valid name of an instance
)

// nameTag is the tag in which the original of machine.openshift.io has the machine's name. The other
// original has it in the name of the instance alone.
const nameTag = "Name"

// The values of a cluster's tag, as each original writes them.
const (
	owned  = "owned"
	oneTag = "1"
)

// originTags are further tags of the original of machine.openshift.io, for programs that look for them.
var originTags = map[string]string{
	"kubernetes-sigs/cluster-api":               "cluster-api-provider-alibaba",
	"sigs.k8s.io/cloud-provider-alibaba/origin": "ocp",
	"GISV": "ocp",
}

func (s ownership) clusterKey() string { return spec.ClusterTagPrefix + s.class.Cluster }

// userTags are those of users. Tags of the owner are never taken from them.
func (s ownership) userTags() map[string]string {
	tags := map[string]string{}
	for key, value := range s.plan.tags {
		foreign := s.class.API == provider.OpenShift && (strings.HasPrefix(key, spec.ClusterTagPrefix) || key == nameTag)
		if !foreign && !strings.HasPrefix(key, ourPrefix) {
			tags[key] = value
		}
	}
	return tags
}

// ownershipTags are the tags by which the instances of the class are listed: in one API that of the cluster,
// in the other those of the spec for the cluster and the role of nodes. If the spec names no cluster, the
// name of the cluster replaces it.
func (s ownership) ownershipTags() map[string]string {
	if s.class.API == provider.OpenShift {
		return map[string]string{s.clusterKey(): owned}
	}
	tags := map[string]string{}
	if s.plan != nil {
		maps.Copy(tags, s.plan.owner)
	}
	named := false
	for key := range tags {
		named = named || strings.Contains(key, spec.ClusterTagPrefix)
	}
	if !named {
		tags[s.clusterKey()] = oneTag
	}
	return tags
}

// tagsOf are those of an instance that is created for a machine.
func (s ownership) tagsOf(ref provider.Ref, role string) map[string]string {
	tags := s.userTags()
	maps.Copy(tags, s.ownershipTags())
	if s.class.API == provider.OpenShift {
		maps.Copy(tags, originTags)
	}
	for key, value := range s.identity(ref) {
		tags[key] = value
	}
	if role != "" {
		tags[roleTag] = role
	}
	return tags
}

// identity are the tags that name the machine and its owner.
func (s ownership) identity(ref provider.Ref) map[string]string {
	tags := map[string]string{uidTag: ref.UID, namespaceTag: ref.Namespace, ownerTag: s.class.Owner}
	if s.class.API == provider.OpenShift {
		tags[nameTag] = ref.Name
	}
	if instanceName(ref.Name) == nil {
		tags[machineTag] = ref.Name
	}
	maps.DeleteFunc(tags, func(_, value string) bool { return value == "" })
	return tags
}

// The lengths of names of ECS.
const (
	leastName = 2
	mostName  = 128
)

// instanceName is the name of a machine's instance; nil if ECS does not allow the machine's name. Names of
// instances begin with a letter.
func instanceName(machine string) *string {
	if len(machine) < leastName || len(machine) > mostName || machine[0] < 'a' || machine[0] > 'z' {
		return nil
	}
	return &machine
}

// inScope reports whether tags name the class's cluster, by any of its names. Values and roles are ignored:
// those of a class may have changed since the instance was created. A class that has lost its spec does not
// know the name of the cluster in the spec.
func (s ownership) inScope(tags map[string]string) bool {
	if _, own := tags[s.clusterKey()]; own {
		return true
	}
	if s.class.API == provider.OpenShift || s.plan == nil {
		return false
	}
	for key := range s.plan.owner {
		if _, has := tags[key]; has && strings.Contains(key, spec.ClusterTagPrefix) {
			return true
		}
	}
	return false
}

// unscoped reports whether the class has lost its spec, which alone names the cluster.
func (s ownership) unscoped() bool { return s.plan == nil && s.class.API == provider.Gardener }

// runTags returns tags in order: a repeated request has to be the same request.
func runTags(tags map[string]string) (out []*ecs.RunInstancesRequestTag) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, &ecs.RunInstancesRequestTag{Key: &key, Value: dara.String(tags[key])})
	}
	return out
}

// filterTags returns tags as a filter: instances that have all of them.
func filterTags(tags map[string]string) (out []*ecs.DescribeInstancesRequestTag) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, &ecs.DescribeInstancesRequestTag{Key: &key, Value: dara.String(tags[key])})
	}
	return out
}

// mapOf are the tags of an instance.
func mapOf(i *vm) map[string]string {
	out := map[string]string{}
	if i.Tags == nil {
		return out
	}
	for _, t := range i.Tags.Tag {
		out[deref(t.TagKey)] = deref(t.TagValue)
	}
	return out
}
