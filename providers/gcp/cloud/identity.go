package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Labels that record the owner of instances and disks. Users' labels never replace them.
const (
	uidLabel       = "millwright-dev-machine-uid"
	namespaceLabel = "millwright-dev-machine-namespace"
	ownerLabel     = "millwright-dev-owner"
	// nameLabel has the machine's name if the instance has another name.
	nameLabel = "millwright-dev-machine-name"
	// roleLabel is the machine's role, if the provider acts on it.
	roleLabel = "millwright-dev-role"
	// keptLabel has the machine's UID on disks that outlive it.
	keptLabel = "millwright-dev-kept-of-uid"
)

var ourLabels = []string{uidLabel, namespaceLabel, ownerLabel, nameLabel, roleLabel, keptLabel}

// The prefixes of the network tags by which Gardener's original recognizes its instances, and of the label
// by which OpenShift's does.
const (
	clusterPrefix = "kubernetes-io-cluster-"
	rolePrefix    = "kubernetes-io-role-"
	owned         = "owned"
)

var labelForm = regexp.MustCompile(`^[a-z][-_a-z0-9]{0,62}$`)

func (s *scope) clusterLabel() string { return clusterPrefix + s.class.Cluster }

func (s *scope) checkCluster() error {
	if s.class.Cluster == "" || !labelForm.MatchString(s.clusterLabel()) {
		return provider.Errorf(provider.Invalid, "the cluster's name %q cannot be part of a label: it may have 41 lower-case letters, digits, dashes and underscores", s.class.Cluster)
	}
	return nil
}

// ownTags are the spec's network tags that record the owner of instances; empty unless it has both.
func (s *scope) ownTags() (cluster, role string) {
	if s.plan.gardener == nil {
		return "", ""
	}
	for _, t := range s.plan.gardener.Tags {
		switch {
		case strings.Contains(t, clusterPrefix):
			cluster = t
		case strings.Contains(t, rolePrefix):
			role = t
		}
	}
	if cluster == "" || role == "" {
		return "", ""
	}
	return cluster, role
}

// ours reports whether an instance is in the class's ownership scope: by the label or, for one of
// Gardener's original, by network tags.
func (s *scope) ours(i *compute.Instance) bool {
	if _, ok := i.Labels[s.clusterLabel()]; ok {
		return true
	}
	if i.Tags == nil {
		return false
	}
	cluster, role := s.ownTags()
	return slices.Contains(i.Tags.Items, s.clusterLabel()) ||
		cluster != "" && slices.Contains(i.Tags.Items, cluster) && slices.Contains(i.Tags.Items, role)
}

// identity are the labels of instances and disks of ref.
func (s *scope) identity(ref provider.Ref) map[string]string {
	labels := map[string]string{s.clusterLabel(): owned, uidLabel: ref.UID, namespaceLabel: ref.Namespace}
	if s.class.Owner != "" {
		labels[ownerLabel] = s.class.Owner
	}
	return labels
}

// labelled merges a user's labels, those of the whole cluster below them, and the identity above all.
func (s *scope) labelled(users, identity map[string]string) map[string]string {
	labels := map[string]string{}
	if s.class.API == provider.OpenShift {
		maps.Copy(labels, s.from.labels)
	}
	maps.Copy(labels, users)
	for _, key := range ourLabels {
		delete(labels, key)
	}
	maps.Copy(labels, identity)
	return labels
}

// mostLabels is the limit of a resource.
const mostLabels = 64

// nameForm is what instances may be called.
var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// mostName is the limit of a name's letters, digits and dashes.
const mostName = 63

// alternativeName is the name of an instance if another instance of the zone has the machine's name.
func (s *scope) alternativeName(ref provider.Ref) string { return s.uniqueName(ref, "") }

// uniqueName is a name that no other machine has. If it is too long, the machine's name is cut, and never the
// suffix.
func (s *scope) uniqueName(ref provider.Ref, suffix string) string {
	suffix = "-" + ref.Token(s.class.Cluster)[:8] + suffix
	return cut(ref.Name, mostName-len(suffix)) + suffix
}

// cut is a prefix of a name that leaves room for a suffix.
func cut(name string, most int) string { return strings.TrimRight(name[:min(len(name), most)], "-") }

// diskName is unique among the disks of all machines: Compute Engine attaches an existing disk by its name,
// whatever its owner.
func (s *scope) diskName(ref provider.Ref, n int) string {
	if n == 0 {
		return s.uniqueName(ref, "")
	}
	return s.uniqueName(ref, fmt.Sprintf("-%d", n))
}

// requestID is the ID of the request for the instance of ref at a place: a UUID computed from both. Its
// first four groups depend on the machine alone, so that any session of the cluster recognizes requests for
// it, of any choice or fallback.
func (s *scope) requestID(ref provider.Ref, at placement) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", at.project, at.zone, s.terms(at.machineType)))
	return uuid(ref.Token(s.class.Cluster)[:20] + hex.EncodeToString(sum[:6]))
}

// begins reports whether a request's ID is one for an instance of ref.
func (s *scope) begins(ref provider.Ref, requestID string) bool {
	groups := s.requestID(ref, placement{})[:24]
	return strings.HasPrefix(requestID, groups)
}

// uuid is 32 hexadecimal digits as a UUID of version 4.
func uuid(digits string) string {
	return digits[:8] + "-" + digits[8:12] + "-4" + digits[13:16] + "-8" + digits[17:20] + "-" + digits[20:]
}

// instanceRef is what a provider ID names.
type instanceRef struct{ project, zone, name string }

// parseProviderID reads provider IDs of both APIs, which have two slashes and three, and those of the cloud controller manager.
func parseProviderID(providerID string) (a instanceRef, ok bool) {
	scheme, rest, ok := strings.Cut(providerID, "://")
	parts := strings.Split(strings.TrimLeft(rest, "/"), "/")
	if !ok || !strings.EqualFold(scheme, "gce") || len(parts) != 3 || slices.Contains(parts, "") {
		return a, false
	}
	return instanceRef{strings.ToLower(parts[0]), strings.ToLower(parts[1]), strings.ToLower(parts[2])}, true
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	a, ok := parseProviderID(providerID)
	if !ok {
		return ""
	}
	return a.project + "/" + a.zone + "/" + a.name
}

// providerID is written with two slashes for OpenShift, as the cloud controller manager does, and with three for Gardener.
func (s *scope) providerID(zone, name string) string {
	prefix := "gce://"
	if s.class.API == provider.Gardener {
		prefix += "/"
	}
	return prefix + s.project + "/" + zone + "/" + name
}
