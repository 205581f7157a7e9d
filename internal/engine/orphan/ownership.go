package orphan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// unseen reports whether an instance of ours belongs to a namespace whose machines are unknown.
func (s *sweep) unseen(owner, namespace string) bool {
	p := s.policy
	return p.Namespace != "" && p.Owns(owner) && namespace != p.Namespace
}

// Owns reports whether this owner is the control plane.
func (p Policy) Owns(owner string) bool {
	return p.Owner != "" && owner != "" && (owner == p.Owner || slices.Contains(p.Also, owner))
}

// bar sets why an instance of this owner is not removed automatically: several control planes may share an
// account and a scope, and the machine may belong to another one.
func (s *sweep) bar(v *Verdict, owner string) {
	switch {
	case s.policy.Owner == "":
		v.bar = ReasonOwnerUnknown
		v.barred = "the identity of this control plane, the UID of its namespace kube-system or of a ConfigMap of its own, is unknown, so it is unknown whether it created this"
	case owner == "":
		v.bar, v.barred = ReasonNoOwner, "it does not say which control plane created it"
	case !s.policy.Owns(owner):
		v.bar, v.barred = ReasonOtherOwner, "it was created by another control plane, "+owner
	}
}

// named reports whether a user has approved the removal of this instance.
func (s *sweep) named(v *Verdict) bool { return Named(v.Instance, s.policy.Named) }

// Named reports whether the instance has one of the provider IDs.
func Named(i provider.Instance, ids []string) bool {
	return i.ProviderID != "" && slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, i.ProviderID) })
}

// howTo says how to approve a removal despite the objection.
func howTo(v *Verdict) string {
	if v.Instance.ProviderID == "" {
		return ""
	}
	return fmt.Sprintf("; annotation %s: %q allows its removal", ApproveAnnotation, v.Instance.ProviderID)
}

// readyNode returns the name of the instance's ready node; empty if none exists.
func (s *sweep) readyNode(v *Verdict) string {
	for _, n := range s.ready {
		if len(v.Left) == 0 && n.Is(v.Instance) {
			return n.Name
		}
	}
	return ""
}

// Is reports whether the node belongs to the instance: by its provider ID, in any spelling, or, if it has
// none, by its name.
func (n ReadyNode) Is(i provider.Instance) bool {
	if id := provider.Tail(n.ProviderID); id != "" {
		return slices.Contains(tails(i), id)
	}
	return n.Name != "" && (n.Name == i.NodeName || n.Name == i.Name)
}
