package orphan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// unseen reports whether something of ours belongs to a namespace whose machines
// are not known.
func (s *sweep) unseen(owner, namespace string) bool {
	p := s.policy
	return p.Namespace != "" && p.Owns(owner) && namespace != p.Namespace
}

// Owns reports whether the control plane made what has this owner.
func (p Policy) Owns(owner string) bool {
	return p.Owner != "" && owner != "" && (owner == p.Owner || slices.Contains(p.Also, owner))
}

// bar says why what has this owner is not removed by itself: several control
// planes may share an account and a scope, and the machine may be another's.
func (s *sweep) bar(v *Verdict, owner string) {
	switch {
	case s.policy.Owner == "":
		v.bar = ReasonOwnerUnknown
		v.barred = "the identity of this control plane, the UID of its namespace kube-system or of a ConfigMap of its own, is not known, and so not whether it made this"
	case owner == "":
		v.bar, v.barred = ReasonNoOwner, "it does not say which control plane made it"
	case !s.policy.Owns(owner):
		v.bar, v.barred = ReasonOtherOwner, "it was made by another control plane, "+owner
	}
}

// named reports whether somebody allows the removal of this very instance.
func (s *sweep) named(v *Verdict) bool { return Named(v.Instance, s.policy.Named) }

// Named reports whether the instance is among those whose provider IDs are given.
func Named(i provider.Instance, ids []string) bool {
	return i.ProviderID != "" && slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(id, i.ProviderID) })
}

// howTo says how somebody allows what stands against a removal.
func howTo(v *Verdict) string {
	if v.Instance.ProviderID == "" {
		return ""
	}
	return fmt.Sprintf("; annotation %s: %q allows to remove it", ApproveAnnotation, v.Instance.ProviderID)
}

// readyNode is the name of the ready node that the instance is; empty when there
// is none.
func (s *sweep) readyNode(v *Verdict) string {
	for _, n := range s.ready {
		if len(v.Left) == 0 && n.Is(v.Instance) {
			return n.Name
		}
	}
	return ""
}

// Is reports whether the node is the instance: it has its provider ID, in whatever
// spelling, or, where it has none, its name.
func (n ReadyNode) Is(i provider.Instance) bool {
	if id := provider.Tail(n.ProviderID); id != "" {
		return slices.Contains(tails(i), id)
	}
	return n.Name != "" && (n.Name == i.NodeName || n.Name == i.Name)
}
