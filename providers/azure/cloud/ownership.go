package cloud

import (
	"maps"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// Our tags. The name of a tag may not contain a /, and ignores case.
const (
	tagUID       = "millwright.dev_machine-uid"
	tagNamespace = "millwright.dev_machine-namespace"
	tagOwner     = "millwright.dev_owner"
	tagCluster   = "millwright.dev_cluster"
	// tagKept has the names of disks that outlive their machine, after its own: "data_logs".
	tagKept = "millwright.dev_kept-disks"
)

// The prefixes of the tags by which the originals record the cluster.
const (
	openshiftCluster = "kubernetes.io_cluster."
	gardenerCluster  = spec.GardenerClusterPrefix
)

// valuesOf converts tags to the contract's form.
func valuesOf(tags map[string]*string) map[string]string {
	out := make(map[string]string, len(tags))
	for key, value := range tags {
		out[key] = deref(value)
	}
	return out
}

// ownership decides which resources are a cluster's.
type ownership struct {
	cluster string
	// keys are the tags by which the original of Gardener records the cluster: a resource has all of them.
	// Empty: the spec names none.
	keys []string
	// clusters are the names in those keys.
	clusters []string
}

// tag is the value of a tag, whose name ignores case.
func tag(tags map[string]*string, key string) (string, bool) {
	if v, ok := tags[key]; ok {
		return deref(v), true
	}
	for k, v := range tags {
		if strings.EqualFold(k, key) {
			return deref(v), true
		}
	}
	return "", false
}

func tagOf(tags map[string]*string, key string) string {
	v, _ := tag(tags, key)
	return v
}

// has reports whether a resource with the tags is the cluster's: created by us, or by the original of
// either API. The keys of Gardener's spec have precedence: unnamed control planes share one name.
func (o ownership) has(tags map[string]*string) bool {
	for _, cluster := range append([]string{o.cluster}, o.clusters...) {
		if _, ok := tag(tags, openshiftCluster+cluster); ok {
			return true
		}
	}
	if len(o.keys) > 0 && !slices.ContainsFunc(o.keys, func(key string) bool { _, ok := tag(tags, key); return !ok }) {
		return true
	}
	if made, ok := tag(tags, tagCluster); ok {
		return made == o.cluster && !o.another(tags)
	}
	_, ok := tag(tags, gardenerCluster+o.cluster)
	return ok && len(o.keys) == 0
}

// another reports whether the tags name a cluster of Gardener that the spec does not name.
func (o ownership) another(tags map[string]*string) bool {
	for key := range tags {
		if cluster, ok := strings.CutPrefix(strings.ToLower(key), gardenerCluster); ok && len(o.clusters) > 0 &&
			!slices.ContainsFunc(o.clusters, func(c string) bool { return strings.EqualFold(c, cluster) }) {
			return true
		}
	}
	return false
}

// mark are the tags that record the machine of a resource.
func (o ownership) mark(class provider.Class, ref provider.Ref) map[string]string {
	out := map[string]string{tagUID: ref.UID, tagCluster: class.Cluster}
	if ref.Namespace != "" {
		out[tagNamespace] = ref.Namespace
	}
	if class.Owner != "" {
		out[tagOwner] = class.Owner
	}
	return out
}

// fitting are tags without that of the cluster, if there is no room for it and the tag of the original of
// OpenShift has the same content.
func (o ownership) fitting(tags map[string]*string) map[string]*string {
	if _, ok := tag(tags, openshiftCluster+o.cluster); ok && len(tags) > mostTags {
		delete(tags, tagCluster)
	}
	return tags
}

// merged merges several sets of tags. The later ones win, regardless of case.
func merged(sets ...map[string]string) map[string]*string {
	out := map[string]*string{}
	for _, set := range sets {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			maps.DeleteFunc(out, func(k string, _ *string) bool { return strings.EqualFold(k, key) })
			out[key] = to.Ptr(set[key])
		}
	}
	return out
}

// twins are names of tags that differ only in case.
func twins(tags map[string]string) (a, b string, ok bool) {
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		folded := strings.ToLower(key)
		if was, there := seen[folded]; there {
			return was, key, true
		}
		seen[folded] = key
	}
	return "", "", false
}

// Bounds of tags: https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations
const (
	mostTags     = 50
	mostOurs     = 5 // with that of the original
	mostTagName  = 512
	mostTagValue = 256
)

// checkTags refuses what Azure would refuse: the error is better before anything is created.
func checkTags(path string, tags map[string]string) error {
	if a, b, ok := twins(tags); ok {
		return provider.InvalidField(path, "the names %q and %q are one to Azure, which does not tell cases apart", provider.Clip(a, 100), provider.Clip(b, 100))
	}
	if len(tags) > mostTags-mostOurs {
		return provider.InvalidField(path, "there are %d tags, with those of the cluster: no more than %d have room besides ours", len(tags), mostTags-mostOurs)
	}
	for key, value := range tags {
		switch {
		case key == "" || len(key) > mostTagName || strings.ContainsAny(key, `<>%&\?/`):
			return provider.InvalidField(path, `the name %q is empty, longer than %d, or has one of <>%%&\?/ in it`, provider.Clip(key, 100), mostTagName)
		case len(value) > mostTagValue:
			return provider.InvalidField(path, "the value of %q is longer than %d", provider.Clip(key, 100), mostTagValue)
		}
	}
	return nil
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
