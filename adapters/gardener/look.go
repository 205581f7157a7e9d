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

// reader reads instances from the driver.
type reader struct{ request }

// look asks the driver for the instances that may be ref's. If the status does not show the recorded
// instance, it reads the listing too: "not found" requires both, as far as the driver has both.
func (s *reader) look(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, answer, err := s.status(ctx, ref)
	if err != nil {
		return nil, err
	}
	recorded := func(i provider.Instance) bool { return identify(i.ProviderID) == identify(ref.ProviderID) }
	if answer == complete && (ref.ProviderID == "" || slices.ContainsFunc(found, recorded)) {
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
		if (recorded(i) || answer != complete && i.Name == ref.Name) && !slices.ContainsFunc(found, again) {
			found = append(found, i)
		}
	}
	if answer == several && len(found) == 0 {
		return nil, provider.Errorf(provider.Transient, "the driver reports several instances of %s, and lists none", ref.Name)
	}
	return found, nil
}

// unlisted completes the result of a driver without a listing. If the driver has no status either, the
// recorded instance, or the one that this process created, counts as existing until its deletion is complete,
// as in the original.
func (s *reader) unlisted(ref provider.Ref, found []provider.Instance, a answer) []provider.Instance {
	one, _ := s.memory.of(ref.UID)
	id := cmp.Or(ref.ProviderID, one.providerID)
	if a == complete || id == "" {
		return found
	}
	return []provider.Instance{s.instance(ref.Name, id)}
}

// answer is the kind of a driver's status response.
type answer int

const (
	// complete: the found instances are all that the status knows.
	complete answer = iota
	// unsupported: the driver has no such call.
	unsupported
	// several: there are several instances, and the status shows none of them.
	several
)

// status reads the driver's status of ref.
func (s *reader) status(ctx context.Context, ref provider.Ref) ([]provider.Instance, answer, error) {
	sub, err := s.about(ctx, ref, nil)
	if err != nil {
		return nil, unsupported, err
	}
	r, err := s.config.Driver.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: sub.machine, MachineClass: sub.class, Secret: sub.secret})
	code := codeOf(err)
	switch {
	case code == codes.NotFound:
		return nil, complete, nil
	case code == codes.Unimplemented:
		return nil, unsupported, nil
	case code == codes.OutOfRange:
		return nil, several, nil
	case err != nil && code != uninitialized && s.removals.ended(ref.ProviderID) && provider.KindOf(classified(err)) != provider.Denied:
		return nil, unsupported, nil // the status fails for ended instances
	case err != nil && code != uninitialized:
		return nil, unsupported, classified(err)
	case r == nil || r.ProviderID == "":
		return nil, unsupported, provider.Errorf(provider.Transient, "the driver returned the status of %s without a provider ID: %w", ref.Name, cmp.Or(err, errEmpty))
	}
	if s.recorded(ref, r.ProviderID) {
		s.memory.note(ref.UID, func(one *made) { one.name, one.namespace, one.providerID = ref.Name, ref.Namespace, r.ProviderID })
	}
	i := s.instance(ref.Name, r.ProviderID)
	i.NodeName, i.Addresses = cmp.Or(r.NodeName, i.NodeName), addressesOf(r)
	i.Uninitialized = i.Uninitialized || code == uninitialized
	return []provider.Instance{i}, complete, nil
}

var (
	errEmpty     = errors.New("the answer is empty")
	errNoListing = errors.New("the driver has no listing")
)

// recorded reports whether the machine has recorded the instance of its name, and no other machine is known
// to have created it.
func (s *reader) recorded(ref provider.Ref, providerID string) bool {
	_, known := s.memory.machineOf(providerID)
	return !known && ref.UID != "" && identify(ref.ProviderID) == identify(providerID)
}

// instance is an instance with the name and the provider ID in a driver's response.
func (s *reader) instance(name, providerID string) provider.Instance {
	i := provider.Instance{ID: name, Name: name, ProviderID: providerID, State: provider.Running, RawState: "reported by the driver"}
	if s.config.Exclusive {
		i.Owner, i.Namespace = s.class.Owner, s.class.Object.Namespace
	}
	if s.removals.ended(providerID) {
		i.State, i.RawState = provider.Terminated, "removed by the driver"
	}
	one, ok := s.memory.machineOf(providerID)
	if !ok {
		return i
	}
	i.UID, i.Owner, i.Namespace = one.uid, cmp.Or(one.owner, i.Owner), one.namespace
	i.NodeName, i.Addresses, i.Uninitialized = one.nodeName, slices.Clone(one.addresses), one.uninitialized
	return i
}

// listed is the driver's listing, by provider ID. The names of instances are those of the listing; several of
// one name get their provider IDs as names.
func (s *reader) listed(ctx context.Context) ([]provider.Instance, error) {
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
