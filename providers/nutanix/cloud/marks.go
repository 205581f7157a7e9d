package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Our marks are words key=value in the description of a virtual machine: Prism Central has no other free text, and
// a value of a category must exist before it is used. Text of users beside them stays.
const (
	ourPrefix     = "millwright.dev/"
	uidMark       = ourPrefix + "machine-uid"
	namespaceMark = ourPrefix + "machine-namespace"
	ownerMark     = ourPrefix + "owner"
	roleMark      = ourPrefix + "machine-role"
	clusterMark   = ourPrefix + "cluster"
	// vmMark is the UUID of the virtual machine: a clone has the description of its source, and is not the machine's.
	vmMark = ourPrefix + "vm"
)

// sizeTag is the size of a virtual machine in the tags of its instance. It is no mark.
const sizeTag = "size"

// The category of the original for a cluster's virtual machines.
const (
	clusterCategory = "kubernetes-io-cluster-"
	owned           = "owned"
)

// marksIn are the marks in a description.
func marksIn(description string) map[string]string {
	marks := map[string]string{}
	for word := range strings.FieldsSeq(description) {
		if key, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(key, ourPrefix) {
			marks[key] = value
		}
	}
	return marks
}

// marksOf are the marks of a virtual machine; none if they are those of another one.
func marksOf(v *vm) map[string]string {
	marks := marksIn(v.Spec.Description)
	if of := marks[vmMark]; of != "" && !strings.EqualFold(of, v.uuid()) {
		return map[string]string{}
	}
	return marks
}

// described is a description with other marks.
func described(description string, marks map[string]string) string {
	var words []string
	for word := range strings.FieldsSeq(description) {
		if !strings.HasPrefix(word, ourPrefix) {
			words = append(words, word)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		words = append(words, key+"="+marks[key])
	}
	return strings.Join(words, " ")
}

// identity are the marks of the virtual machine of a machine.
func (s ownership) identity(ref provider.Ref, uuid, role string) map[string]string {
	marks := map[string]string{
		uidMark: ref.UID, namespaceMark: ref.Namespace, ownerMark: s.class.Owner, clusterMark: s.class.Cluster, roleMark: role, vmMark: uuid,
	}
	maps.DeleteFunc(marks, func(_, value string) bool { return value == "" || strings.ContainsAny(value, " \t\n") })
	return marks
}

// categories are those of the spec, which must exist, and the one of the cluster, if it exists: like the
// original, the provider does not create it.
func (s ownership) categories(ctx context.Context, c *client) (map[string]string, error) {
	all := map[string]string{}
	for i, wanted := range s.plan.Categories {
		exists, err := lookup(s).hasCategory(ctx, c, wanted.Key, wanted.Value)
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, provider.InvalidField(fmt.Sprintf("categories[%d]", i), "Prism Central has no category %q with the value %q", wanted.Key, wanted.Value)
		}
		all[wanted.Key] = wanted.Value
	}
	for key := range all {
		if strings.HasPrefix(key, clusterCategory) { // another cluster would own it
			delete(all, key)
		}
	}
	exists, err := lookup(s).hasCategory(ctx, c, s.clusterKey(), owned)
	if exists {
		all[s.clusterKey()] = owned
	}
	return all, err
}

func (s ownership) clusterKey() string { return clusterCategory + s.class.Cluster }

// categoriesOf are the categories of a virtual machine. Of several values of one, the first counts, and that of
// the older field before it.
func categoriesOf(v *vm) map[string]string {
	all := map[string]string{}
	for key, values := range v.Metadata.Mapping {
		if len(values) > 0 {
			all[key] = values[0]
		}
	}
	maps.Copy(all, v.Metadata.Categories)
	return all
}

// tagsOf are the categories and marks of a virtual machine.
func tagsOf(v *vm) map[string]string {
	tags := categoriesOf(v)
	maps.Copy(tags, marksOf(v))
	return tags
}

// inScope reports whether a virtual machine is the cluster's: by its mark, or by its category.
func (s ownership) inScope(v *vm) bool {
	if cluster := marksOf(v)[clusterMark]; cluster != "" {
		return cluster == s.class.Cluster
	}
	return categoriesOf(v)[s.clusterKey()] == owned || slices.Contains(v.Metadata.Mapping[s.clusterKey()], owned)
}

// unowned reports whether a virtual machine has no mark of any cluster.
func unowned(v *vm) bool {
	for key := range tagsOf(v) {
		if key == clusterMark || strings.HasPrefix(key, clusterCategory) {
			return false
		}
	}
	return true
}
