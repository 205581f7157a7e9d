package kubemark

import (
	"maps"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// toInstance converts an instance of the cloud.
func toInstance(s cloud.Instance) provider.Instance {
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

// fault is why an instance failed to start; nil: it did not fail.
func fault(s cloud.Instance) *provider.Error {
	if s.Raw != cloud.RawError {
		return nil
	}
	return provider.Errorf(provider.Kind(s.Traits.Fault), "instance %s was accepted and failed to start (fault: %s)", s.ID, s.Traits.Fault)
}

func given(i provider.Instance) cloud.InstanceRef {
	return cloud.InstanceRef{ID: i.ID, UID: i.UID, Node: i.NodeName}
}

// The tags that record the owner of an instance.
const (
	clusterTagPrefix = "kubernetes.io/cluster/"
	uidTag           = "millwright.dev/machine-uid"
	roleTag          = "millwright.dev/machine-role"
	// The control plane that owns the instance within the cluster, and the namespace of its machine.
	ownerTag     = "millwright.dev/owner"
	namespaceTag = "millwright.dev/machine-namespace"
)

// createTags are the tags of a new instance. The owner is written only then.
func (s *session) createTags(ref provider.Ref, want provider.Want) map[string]string {
	tags := s.tags(ref, want)
	for key, value := range map[string]string{ownerTag: s.class.Owner, namespaceTag: ref.Namespace} {
		if value != "" {
			tags[key] = value
		}
	}
	return tags
}

// tags are those of the spec and of ownership. Ownership tags win: a spec cannot set the owner.
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
