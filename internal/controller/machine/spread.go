package machine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/index"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/choice"
	"github.com/millwright-dev/millwright/provider"
)

// SiblingIndex is the index over machines by the UID of their controller.
const SiblingIndex = index.Sibling

// placed is the owner of a machine, and the place where its instance is, or is requested.
type placed struct {
	owner string
	zone  string
}

// ownerOf is the UID of the machine's controller; empty if it has none.
func ownerOf(m client.Object) string {
	if keys := index.OwnerKeys(m); keys[0] != index.NoOwner {
		return keys[0]
	}
	return ""
}

// siblings are the machines of the owner, from the cache. If the list fails, only the remembered ones are
// left.
func (s *instances[M]) siblings(ctx context.Context) (out []choice.Sibling) {
	owner := ownerOf(s.m)
	if owner == "" {
		return nil
	}
	list := s.Dialect.NewList()
	if err := s.Client.List(ctx, list, client.InNamespace(s.view.Namespace), client.MatchingFields{SiblingIndex: owner}, client.UnsafeDisableDeepCopy); err != nil {
		s.log.Error(err, "the zones of the owner's machines are not known")
		return nil
	}
	for m := range dialect.Items[M](list) {
		one := choice.Sibling{UID: string(m.GetUID()), Leaves: m.GetDeletionTimestamp() != nil}
		key := client.ObjectKeyFromObject(m)
		if !one.Leaves && !s.memory.knows(key, func(r *remembered) bool { return r.uid == m.GetUID() && r.placed.zone != "" }) {
			if o := s.Dialect.View(m).Recorded.Origin; o != nil {
				one.Zone = o.ChosenZone
			}
		}
		out = append(out, one)
	}
	return out
}

// chosen completes the machine's record of its origin with the zone of its instance, if its class leaves
// the zone to Millwright.
func (s *instances[M]) chosen(i provider.Instance) {
	if o := s.view.Recorded.Origin; o != nil && o.ChosenZone != "" || i.Zone == "" {
		return
	}
	if choice.Spreads(s.placement().choices()) {
		s.world.Session.Origin.ChosenZone = i.Zone
	}
}

// place lets pick choose for one machine with the known siblings: the listed ones, and the places that this
// process has assigned, which a cache may not show yet. The next machine sees the choice at once. If
// nothing is picked, the machine has no zone any more.
func (m memory) place(self *remembered, listed []choice.Sibling, pick func(siblings []choice.Sibling) choice.Picked) choice.Picked {
	m.mu.Lock()
	defer m.mu.Unlock()
	var known []choice.Sibling
	for _, r := range m.all {
		if r != self && r.placed.owner != "" && r.placed.owner == self.placed.owner {
			known = append(known, choice.Sibling{UID: string(r.uid), Zone: r.placed.zone})
		}
	}
	for _, s := range listed {
		if s.UID != string(self.uid) {
			known = append(known, s)
		}
	}
	picked := pick(known)
	self.placed.zone = picked.Choice.Zone
	return picked
}
