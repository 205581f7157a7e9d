package cloud

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// dependant is a disk, an interface or an address.
type dependant struct {
	kind, id, name, group string
	tags                  map[string]*string
	// used says that a machine, or an interface, uses it.
	used bool
	// keep says that it outlives its machine.
	keep bool
}

// The kinds of pieces, in Azure's words.
const (
	kindNIC, kindDisk, kindAddress = "networkInterface", "disk", "publicIPAddress"
)

// dependants lists all resources that machines may leave behind in the scope of the session.
func (s call) dependants(ctx context.Context) iter.Seq2[dependant, error] {
	return func(yield func(dependant, error) bool) {
		for n, err := range s.interfaces(ctx) {
			p := dependant{kind: kindNIC}
			if err == nil {
				p.id, p.tags, p.used = deref(n.ID), n.Tags, n.Properties != nil && n.Properties.VirtualMachine != nil
			}
			if !s.show(p, err, yield) {
				return
			}
		}
		for d, err := range s.allDisks(ctx) {
			p := dependant{kind: kindDisk}
			if err == nil {
				p.id, p.tags, p.used = deref(d.ID), d.Tags, deref(d.ManagedBy) != ""
				p.keep = isKept(deref(d.Name), d.Tags)
			}
			if !s.show(p, err, yield) {
				return
			}
		}
		if s.class.API != provider.OpenShift {
			return // Gardener's machines have no public addresses
		}
		for a, err := range s.publicAddresses(ctx) {
			p := dependant{kind: kindAddress}
			if err == nil {
				p.id, p.tags, p.used = deref(a.ID), a.Tags, a.Properties != nil && a.Properties.IPConfiguration != nil
			}
			if !s.show(p, err, yield) {
				return
			}
		}
	}
}

// show yields a piece of the cluster, or an error, which ends a listing.
func (s call) show(p dependant, err error, yield func(dependant, error) bool) bool {
	if err != nil {
		yield(p, err)
		return false
	}
	at, ok := parseID(p.id)
	if !ok || !s.ours.has(p.tags) {
		return true
	}
	p.name, p.group = at.name, at.group
	return yield(p, nil)
}

// belongs reports whether a piece was created for ref, or for one of the instances.
func (d deleter) belongs(p dependant) bool {
	uid := tagOf(p.tags, tagUID)
	if uid != "" && uid == d.ref.UID {
		return true
	}
	for _, i := range d.instances {
		own := strings.EqualFold(madeFor(p.name), i.Name) || p.kind == kindAddress && strings.EqualFold(p.name, addressName(d.class.Cluster, i.Name))
		if own && uid == i.UID {
			return true
		}
	}
	return false
}

// deleteDependants removes the remaining resources of deleted machines, and reports whether any is left.
func (d deleter) deleteDependants(ctx context.Context) (left bool, err error) {
	var errs []error
	for p, err := range d.dependants(ctx) {
		if err != nil {
			return false, errors.Join(append(errs, err)...)
		}
		if p.keep || !d.belongs(p) {
			continue
		}
		left = true
		if p.used {
			continue // by a resource under deletion: an address is deleted after its interface
		}
		errs = append(errs, d.deleteDependant(ctx, p))
	}
	return left, errors.Join(errs...)
}

func (d deleter) deleteDependant(ctx context.Context, p dependant) (err error) {
	switch p.kind {
	case kindNIC:
		_, err = d.network.NewInterfacesClient().BeginDelete(ctx, p.group, p.name, nil)
	case kindDisk:
		_, err = d.compute.NewDisksClient().BeginDelete(ctx, p.group, p.name, nil)
	case kindAddress:
		_, err = d.network.NewPublicIPAddressesClient().BeginDelete(ctx, p.group, p.name, nil)
	}
	if isMissing(err) {
		return nil
	}
	return d.observe(err, "delete %s %s", p.kind, p.name)
}

// deleteAvailabilitySets removes the availability set that was created for the machine's set, after the last machine's
// deletion.
func (d deleter) deleteAvailabilitySets(ctx context.Context) (done bool, err error) {
	if d.plan == nil || d.plan.setFor == nil || d.plan.choices[0].zone != "" {
		return true, nil
	}
	machines := map[string]bool{d.ref.Name: true}
	for _, i := range d.instances {
		machines[i.Name] = true
	}
	sets := d.compute.NewAvailabilitySetsClient()
	for machine := range machines {
		name := d.plan.setFor(machine)
		if name == "" {
			continue
		}
		has, err := sets.Get(ctx, d.group, name, nil)
		if isMissing(err) {
			continue
		}
		if err != nil {
			return false, d.observe(err, "read availability set %s", name)
		}
		if !d.ours.has(has.Tags) || has.Properties != nil && len(has.Properties.VirtualMachines) > 0 {
			continue
		}
		_, err = sets.Delete(ctx, d.group, name, nil)
		// A machine created meanwhile keeps it.
		if err != nil && !isMissing(err) && provider.KindOf(d.plan.called().classify(err)) != provider.Conflict {
			return false, d.observe(err, "delete availability set %s", name)
		}
	}
	return true, nil
}

// Leftovers implements [provider.LeftoverLister]: interfaces, disks and addresses without a machine, by
// their tags, or by the originals' names. Volumes have neither.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		c, err := s.newCall(ctx)
		if err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		uids, names := map[string]bool{}, map[string]bool{}
		for vm, err := range c.machines(ctx) {
			if err != nil {
				yield(provider.Leftover{}, err)
				return
			}
			uids[tagOf(vm.Tags, tagUID)], names[strings.ToLower(base(deref(vm.ID)))] = true, true
		}
		for p, err := range c.dependants(ctx) {
			if err != nil {
				yield(provider.Leftover{}, err)
				return
			}
			uid, name := tagOf(p.tags, tagUID), madeFor(p.name)
			if p.kind == kindAddress {
				name, _ = strings.CutPrefix(p.name, s.class.Cluster+"-")
			}
			if p.used || p.keep || uid == "" && name == "" || uid != "" && uids[uid] || uid == "" && names[strings.ToLower(name)] {
				continue
			}
			l := provider.Leftover{Kind: p.kind, ID: p.id, UID: uid, Name: name, Owner: tagOf(p.tags, tagOwner), Namespace: tagOf(p.tags, tagNamespace)}
			if !yield(l, nil) {
				return
			}
		}
	}
}
