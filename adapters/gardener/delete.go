package gardener

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. The driver is asked beside the workers, until it says that nothing is left and its status says
// the same.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, classified(err)
	}
	s.doubt.Met()
	targets := map[string][]provider.Instance{}
	if ref.UID != "" {
		targets[ref.Name] = nil // what a creation left that was never completed goes by the name
	}
	for _, i := range instances {
		targets[i.Name] = append(targets[i.Name], i)
	}
	done, faults := true, []error(nil)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		gone, err := s.remove(ctx, ref, name, targets[name])
		done = done && gone
		faults = append(faults, err)
	}
	if err := worst(faults); err != nil {
		return false, err
	}
	if done {
		s.memory.forget(ref.UID)
	}
	return done, nil
}

// worst is the error that is told of several: the first.
func worst(faults []error) error {
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes the instances of one name, and reports whether that is done.
func (s *session) remove(ctx context.Context, ref provider.Ref, name string, targets []provider.Instance) (bool, error) {
	task := beside.Task{Verb: deleting, UID: ref.UID, What: idsOf(targets)}
	return s.calls.Remove(ctx, s.key(name), named(name), task, func(ctx context.Context) error { return s.end(ctx, ref, name, targets) })
}

func idsOf(targets []provider.Instance) string {
	ids := make([]string, len(targets))
	for n, t := range targets {
		ids[n] = t.ProviderID
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// end has the driver remove the targets, or, where there are none, what is left of ref by its name.
func (s *work) end(ctx context.Context, ref provider.Ref, name string, targets []provider.Instance) error {
	if targets = s.known(ref, name, targets); len(targets) == 0 {
		return s.sweep(ctx, ref)
	}
	for _, t := range targets {
		if err := s.delete(ctx, s.refOf(ref, t)); err != nil {
			return err
		}
	}
	for _, t := range targets {
		if err := s.left(ctx, s.refOf(ref, t)); err != nil {
			return err
		}
	}
	return nil
}

// known are the targets, with what this process made for ref in place of none, and of one that was being made when it was seen.
func (s *work) known(ref provider.Ref, name string, targets []provider.Instance) []provider.Instance {
	one, ok := s.memory.of(ref.UID)
	if !ok || one.name != name || one.providerID == "" {
		return targets
	}
	if len(targets) == 0 || len(targets) == 1 && targets[0].ProviderID == "" {
		return []provider.Instance{s.instance(one.name, one.providerID)}
	}
	return targets
}

// refOf is ref with the instance in place of what is recorded.
func (s *work) refOf(ref provider.Ref, i provider.Instance) provider.Ref {
	ref.ProviderID = i.ProviderID
	if i.Name != ref.Name || ref.UID == "" { // the machine is another, or gone
		ref = provider.Ref{Namespace: s.class.Object.Namespace, Name: i.Name, ProviderID: i.ProviderID}
	}
	return ref
}

// sweep removes what a creation has left that made no instance. What merely has the machine's name stays.
func (s *work) sweep(ctx context.Context, ref provider.Ref) error {
	ref.ProviderID = ""
	found, err := s.look(ctx, ref)
	if err != nil || len(found) > 0 {
		return err
	}
	return s.delete(ctx, ref)
}

// delete asks the driver, which returns once nothing is left, or fails.
func (s *work) delete(ctx context.Context, ref provider.Ref) error {
	sub, err := s.about(ctx, ref, nil)
	if err != nil {
		return err
	}
	r, err := s.config.Driver.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: sub.machine, MachineClass: sub.class, Secret: sub.secret})
	if _, known := s.memory.of(ref.UID); known && r != nil {
		s.memory.note(ref.UID, func(one *made) { one.lastKnownState = r.LastKnownState })
	}
	if codeOf(err) == codes.NotFound {
		return nil
	}
	return classified(err)
}

// left is [beside.ErrLeft] where the driver still shows what it has removed. One that has neither status nor listing is believed.
func (s *work) left(ctx context.Context, ref provider.Ref) error {
	found, a, err := s.status(ctx, ref)
	if err == nil && a != told {
		found, err = s.listed(ctx)
		if errors.Is(err, errNoListing) {
			return nil
		}
	}
	for _, i := range found {
		if identify(i.ProviderID) == identify(ref.ProviderID) {
			err = beside.ErrLeft
		}
	}
	return err
}
