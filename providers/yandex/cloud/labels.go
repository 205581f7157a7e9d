package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/yandex/spec"
)

// Our labels: users' values under these keys are ignored.
const (
	ourPrefix      = "millwright.dev/"
	uidLabel       = ourPrefix + "machine-uid"
	namespaceLabel = ourPrefix + "machine-namespace"
	ownerLabel     = ourPrefix + "owner"
	roleLabel      = ourPrefix + "machine-role"
	nameLabel      = ourPrefix + "machine-name" // only if the instance does not have the machine's name
)

// mostLabels is the number of labels of an instance.
const mostLabels = 64

// one is the value of a cluster's label, as the original's users write it.
const one = "1"

// clusterLabel is the label of the class's cluster. A name that no label can have is hashed.
func (s ownership) clusterLabel() string {
	key := spec.ClusterLabelPrefix + s.class.Cluster
	if spec.ValidLabel(key, one) {
		return key
	}
	sum := sha256.Sum256([]byte(s.class.Cluster))
	return spec.ClusterLabelPrefix + hex.EncodeToString(sum[:16])
}

// ownershipLabels are the labels by which the instances of the class are listed: those of the spec for the
// cluster and the role of nodes. If the spec names no cluster, the name of the cluster replaces it.
func (s ownership) ownershipLabels() map[string]string {
	labels := map[string]string{}
	if s.plan != nil {
		maps.Copy(labels, s.plan.owner)
	}
	for key := range labels {
		if strings.Contains(key, spec.ClusterLabelPrefix) {
			return labels
		}
	}
	labels[s.clusterLabel()] = one
	return labels
}

// userLabels are those of users. Labels of the owner are never taken from them.
func (s ownership) userLabels() map[string]string {
	labels := maps.Clone(s.plan.Labels)
	if labels == nil {
		return map[string]string{}
	}
	maps.DeleteFunc(labels, func(key, _ string) bool { return strings.HasPrefix(key, ourPrefix) })
	return labels
}

// labelsOf are those of an instance that is created for a machine, under the name.
func (s ownership) labelsOf(ref provider.Ref, name, role string) map[string]string {
	labels := s.userLabels()
	maps.Copy(labels, s.ownershipLabels())
	maps.Copy(labels, s.identity(ref, name))
	if spec.ValidLabel(roleLabel, role) && role != "" {
		labels[roleLabel] = role
	}
	return labels
}

// identity are the labels that name the machine and its owner.
func (s ownership) identity(ref provider.Ref, name string) map[string]string {
	labels := map[string]string{uidLabel: ref.UID, namespaceLabel: ref.Namespace, ownerLabel: s.class.Owner}
	if name != ref.Name {
		labels[nameLabel] = ref.Name
	}
	maps.DeleteFunc(labels, func(key, value string) bool { return value == "" || !spec.ValidLabel(key, value) })
	return labels
}

// inScope reports whether labels name the class's cluster, by any of its names. Values and roles are
// ignored: those of a class may have changed since the instance was created.
func (s ownership) inScope(labels map[string]string) bool {
	if _, own := labels[s.clusterLabel()]; own || s.plan == nil {
		return own
	}
	for key := range s.plan.owner {
		if _, has := labels[key]; has && strings.Contains(key, spec.ClusterLabelPrefix) {
			return true
		}
	}
	return false
}

// unscoped reports whether the class has lost its spec, which alone names the cluster.
func (s ownership) unscoped() bool { return s.plan == nil }

// listed reports whether labels have the keys of the class's labels of the owner. As in the original, values
// do not matter.
func (s ownership) listed(labels map[string]string) bool {
	for key := range s.ownershipLabels() {
		if _, has := labels[key]; !has {
			return false
		}
	}
	return true
}

// nameForm is the form of an instance's name and host name.
var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// mostName is the length of the longest name.
const mostName = 63

// instanceName is the name of a machine's instance: the machine's, unless no instance can have it or an
// instance of another machine has it. taken are the names of other instances of the folder.
func (s ownership) instanceName(ref provider.Ref, taken map[string]bool) (string, error) {
	if nameForm.MatchString(ref.Name) && !taken[ref.Name] {
		return ref.Name, nil
	}
	name := s.uniqueName(ref)
	if taken[name] {
		return "", provider.Errorf(provider.Conflict, "the folder has instances %s and %s of other machines", provider.Clip(ref.Name, mostName), name)
	}
	return name, nil
}

// letters is the begin of a name that does not begin with a letter.
const letters = "m-"

// uniqueName is a name that no other machine has: it ends with a part of the machine's token.
func (s ownership) uniqueName(ref provider.Ref) string {
	base := strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(ref.Name))
	if base == "" || base[0] < 'a' || base[0] > 'z' {
		base = letters + base
	}
	suffix := "-" + ref.Token(s.class.Cluster)[:8]
	return strings.TrimRight(base[:min(len(base), mostName-len(suffix))], "-") + suffix
}
