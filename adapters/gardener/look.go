package gardener

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"

	"github.com/millwright-dev/millwright/provider"
)

// sight asks the driver what there is.
type sight struct{ request }

// look asks the driver for the instances that may be ref's. Where its status does not show the instance that is recorded, its
// listing is asked as well: that nothing is there is concluded from both, as far as the driver has both.
func (s *sight) look(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, answer, err := s.status(ctx, ref)
	if err != nil {
		return nil, err
	}
	recorded := func(i provider.Instance) bool { return identify(i.ProviderID) == identify(ref.ProviderID) }
	if answer == told && (ref.ProviderID == "" || slices.ContainsFunc(found, recorded)) {
		return found, nil
	}
	listed, err := s.listed(ctx)
	if errors.Is(err, errNoListing) && answer != several {
		return s.unlisted(ref, found, answer), nil
	}
	if err != nil {
		return nil, err
	}
	for _, i := range listed {
		again := func(f provider.Instance) bool { return identify(f.ProviderID) == identify(i.ProviderID) }
		if (recorded(i) || answer != told && i.Name == ref.Name) && !slices.ContainsFunc(found, again) {
			found = append(found, i)
		}
	}
	if answer == several && len(found) == 0 {
		return nil, provider.Errorf(provider.Transient, "the driver says that there are several instances of %s, and lists none", ref.Name)
	}
	return found, nil
}

// unlisted is what is found by a driver that has no listing. One that has no status either is believed to have what is
// recorded, or what it made, until its removal is done, as by the original.
func (s *sight) unlisted(ref provider.Ref, found []provider.Instance, a answer) []provider.Instance {
	one, _ := s.memory.of(ref.UID)
	id := cmp.Or(ref.ProviderID, one.providerID)
	if a == told || id == "" {
		return found
	}
	return []provider.Instance{s.instance(ref.Name, id)}
}

// answer is what a driver's status has to say of a machine.
type answer int

const (
	// told: what is found is all that the status knows of.
	told answer = iota
	// untold: the driver has no such call.
	untold
	// several: there are several instances, of which it shows none.
	several
)

// status is what the driver's status says of ref.
func (s *sight) status(ctx context.Context, ref provider.Ref) ([]provider.Instance, answer, error) {
	sub, err := s.about(ctx, ref, nil)
	if err != nil {
		return nil, untold, err
	}
	r, err := s.config.Driver.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: sub.machine, MachineClass: sub.class, Secret: sub.secret})
	code := codeOf(err)
	switch {
	case code == codes.NotFound:
		return nil, told, nil
	case code == codes.Unimplemented:
		return nil, untold, nil
	case code == codes.OutOfRange:
		return nil, several, nil
	case err != nil && code != uninitialized && s.removals.ended(ref.ProviderID) && provider.KindOf(classified(err)) != provider.Denied:
		return nil, untold, nil // it fails for what has ended
	case err != nil && code != uninitialized:
		return nil, untold, classified(err)
	case r == nil || r.ProviderID == "":
		return nil, untold, provider.Errorf(provider.Transient, "the driver tells the status of %s without a provider ID: %w", ref.Name, cmp.Or(err, errEmpty))
	}
	if s.recorded(ref, r.ProviderID) {
		s.memory.note(ref.UID, func(one *made) { one.name, one.namespace, one.providerID = ref.Name, ref.Namespace, r.ProviderID })
	}
	i := s.instance(ref.Name, r.ProviderID)
	i.NodeName, i.Addresses = cmp.Or(r.NodeName, i.NodeName), addressesOf(r)
	i.Uninitialized = i.Uninitialized || code == uninitialized
	return []provider.Instance{i}, told, nil
}

var (
	errEmpty     = errors.New("the answer is empty")
	errNoListing = errors.New("the driver has no listing")
)

// recorded reports whether the machine's own record says that the instance of its name is its, and nobody else is known to have made it.
func (s *sight) recorded(ref provider.Ref, providerID string) bool {
	_, known := s.memory.whose(providerID)
	return !known && ref.UID != "" && identify(ref.ProviderID) == identify(providerID)
}

// instance is one that the driver tells of by name and provider ID.
func (s *sight) instance(name, providerID string) provider.Instance {
	i := provider.Instance{ID: name, Name: name, ProviderID: providerID, State: provider.Running, RawState: "reported by the driver"}
	if s.config.Exclusive {
		i.Owner, i.Namespace = s.class.Owner, s.class.Object.Namespace
	}
	if s.removals.ended(providerID) {
		i.State, i.RawState = provider.Terminated, "removed by the driver"
	}
	one, ok := s.memory.whose(providerID)
	if !ok {
		return i
	}
	i.UID, i.Owner, i.Namespace = one.uid, cmp.Or(one.owner, i.Owner), one.namespace
	i.NodeName, i.Addresses, i.Uninitialized = one.nodeName, slices.Clone(one.addresses), one.uninitialized
	return i
}

// listed is the driver's listing, by provider ID. Instances go by their names; several of one name, by their provider IDs.
func (s *sight) listed(ctx context.Context) ([]provider.Instance, error) {
	class, err := s.machineClass(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.config.Driver.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: s.secret(nil)})
	switch {
	case codeOf(err) == codes.Unimplemented:
		return nil, provider.Errorf(provider.Denied, "list the machines of the class: %w", errNoListing)
	case err != nil:
		return nil, fmt.Errorf("list the machines of the class: %w", classified(err))
	case r == nil:
		return nil, provider.Errorf(provider.Transient, "list the machines of the class: %w", errEmpty)
	}
	names := map[string]int{}
	for _, name := range r.MachineList {
		names[name]++
	}
	out := make([]provider.Instance, 0, len(r.MachineList))
	for _, id := range slices.Sorted(maps.Keys(r.MachineList)) {
		i := s.instance(r.MachineList[id], id)
		if names[i.Name] > 1 {
			i.ID = id
		}
		out = append(out, i)
	}
	return out, nil
}
