package kubemark

import (
	"maps"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// instance says what is seen in the words of the engine.
func instance(s cloud.Sight) provider.Instance {
	return provider.Instance{
		ID:            s.ID,
		UID:           s.UID,
		Name:          s.Name,
		Owner:         s.Owner,
		Namespace:     s.Namespace,
		ProviderID:    s.ProviderID(),
		NodeName:      s.Node,
		Addresses:     s.NodeAddresses(),
		State:         s.State,
		RawState:      s.Raw,
		Fault:         fault(s),
		Uninitialized: s.Traits.NeedsInit && !s.Initialized,
		Type:          s.Traits.InstanceType,
		Region:        s.Traits.Region,
		Zone:          s.Traits.Zone,
		Interruptible: s.Traits.InterruptAfter > 0,
		Created:       s.Created,
		Tags:          maps.Clone(s.Tags),
	}
}

// fault is why an instance was given up; nil where it was not.
func fault(s cloud.Sight) *provider.Error {
	if s.Raw != cloud.RawError {
		return nil
	}
	return provider.Errorf(provider.Kind(s.Traits.Fault), "instance %s was accepted and could not be started (fault: %s)", s.ID, s.Traits.Fault)
}

func given(i provider.Instance) cloud.Given {
	return cloud.Given{ID: i.ID, UID: i.UID, Node: i.NodeName}
}

// The tags that say whose an instance is.
const (
	clusterTagPrefix = "kubernetes.io/cluster/"
	uidTag           = "millwright.dev/machine-uid"
	roleTag          = "millwright.dev/machine-role"
	// Whose instance it is within the cluster: of which control plane, and of a
	// machine in which namespace.
	ownerTag     = "millwright.dev/owner"
	namespaceTag = "millwright.dev/machine-namespace"
)

// birth are the tags of an instance that is made now. The owner is written then,
// and never again.
func (s *session) birth(ref provider.Ref, want provider.Want) map[string]string {
	tags := s.tags(ref, want)
	for key, value := range map[string]string{ownerTag: s.class.Owner, namespaceTag: ref.Namespace} {
		if value != "" {
			tags[key] = value
		}
	}
	return tags
}

// tags are those of the spec and of ownership: the latter win, and
// what says who the owner is comes from nobody else.
func (s *session) tags(ref provider.Ref, want provider.Want) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, s.spec.Tags)
	delete(tags, ownerTag)
	delete(tags, namespaceTag)
	tags[clusterTagPrefix+s.class.Cluster] = "owned"
	if ref.UID != "" {
		tags[uidTag] = ref.UID
	}
	if want.Role != "" {
		tags[roleTag] = want.Role
	}
	return tags
}
