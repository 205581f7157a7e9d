package gardener

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. It calls the driver in the background, until the driver returns that
// nothing is left and its status shows the same.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, classified(err)
	}
	s.startupLag.Remaining()
	targets := map[string][]provider.Instance{}
	if ref.UID != "" {
		targets[ref.Name] = nil // leftovers of an incomplete creation are deleted by name
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
	if err := firstError(faults); err != nil {
		return false, err
	}
	if done {
		s.memory.forget(ref.UID)
	}
	return done, nil
}

// firstError is the error to report of several.
func firstError(faults []error) error {
	for _, err := range faults {
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the instances of one name, and reports whether they are deleted.
func (s *session) remove(ctx context.Context, ref provider.Ref, name string, targets []provider.Instance) (bool, error) {
	task := background.Task{Verb: deleting, UID: ref.UID, What: idsOf(targets)}
	return s.calls.Remove(ctx, s.key(name), named(name), task, func(ctx context.Context) error { return s.deleteTargets(ctx, ref, name, targets) })
}

func idsOf(targets []provider.Instance) string {
	ids := make([]string, len(targets))
	for n, t := range targets {
		ids[n] = t.ProviderID
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// deleteTargets lets the driver delete the targets or, without targets, ref's leftovers by name. It waits
// before it repeats a deletion: drivers show some instances long after their end.
func (s *executor) deleteTargets(ctx context.Context, ref provider.Ref, name string, targets []provider.Instance) error {
	defer s.changing(name)()
	if targets = s.known(ref, name, targets); len(targets) == 0 {
		return s.sweep(ctx, ref)
	}
	for _, t := range targets {
		if !s.removals.due(t.ProviderID, s.config.ReadLag) {
			continue
		}
		if err := s.delete(ctx, s.refOf(ref, t)); err != nil {
			s.removals.failed(t.ProviderID)
			return err
		}
		s.removals.accepted(t.ProviderID)
	}
	for _, t := range targets {
		if err := s.left(ctx, s.refOf(ref, t)); err != nil {
			return err
		}
		s.removals.end(t.ProviderID)
	}
	return nil
}

// known returns the targets. The instance that this process created for ref replaces an empty list, and a
// target that was still being created when it was read.
func (s *executor) known(ref provider.Ref, name string, targets []provider.Instance) []provider.Instance {
	one, ok := s.memory.of(ref.UID)
	if !ok || one.name != name || one.providerID == "" {
		return targets
	}
	if len(targets) == 0 || len(targets) == 1 && targets[0].ProviderID == "" {
		return []provider.Instance{s.instance(one.name, one.providerID)}
	}
	return targets
}

// refOf is ref with the given instance as the recorded one.
func (s *executor) refOf(ref provider.Ref, i provider.Instance) provider.Ref {
	ref.ProviderID = i.ProviderID
	if i.Name != ref.Name || ref.UID == "" { // the machine is another one, or deleted
		ref = provider.Ref{Namespace: s.class.Object.Namespace, Name: i.Name, ProviderID: i.ProviderID}
	}
	return ref
}

// sweep deletes the leftovers of a creation without an instance. An instance that only has the machine's name
// stays.
func (s *executor) sweep(ctx context.Context, ref provider.Ref) error {
	ref.ProviderID = ""
	found, err := s.look(ctx, ref)
	if err != nil || len(found) > 0 {
		return err
	}
	return s.delete(ctx, ref)
}

// delete calls the driver, which returns once nothing is left, or fails.
func (s *executor) delete(ctx context.Context, ref provider.Ref) error {
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

// left returns [background.ErrLeft] while the driver still shows a deleted instance, unless there is a reason
// not to rely on that. A driver with neither status nor listing is relied on at once.
//
// The contract of a driver is that DeleteMachine succeeds once nothing is left. Some drivers return earlier,
// so the adapter waits until they show no instance. Some show ended instances, or fail when they are asked
// for the status, for as long as the cloud remembers the instance. So a deletion that succeeded twice is
// complete if the listing has lacked the instance for the read lag, and in any case after RemovalPatience.
// Refused credentials prove nothing: the error is reported, and the adapter waits.
func (s *executor) left(ctx context.Context, ref provider.Ref) error {
	found, a, err := s.status(ctx, ref)
	if err == nil && a == complete && !shows(found, ref) {
		return nil
	}
	if provider.KindOf(err) == provider.Denied {
		return err
	}
	listed, unlisted := s.listed(ctx)
	switch {
	case errors.Is(unlisted, errNoListing) && err == nil && a != complete:
		return nil
	case errors.Is(unlisted, errNoListing):
	case provider.KindOf(unlisted) == provider.Denied:
		return unlisted
	case unlisted == nil && !shows(listed, ref) && (err == nil && a != complete || s.removals.repeated(ref.ProviderID, s.config.ReadLag)):
		return nil
	}
	if s.removals.repeated(ref.ProviderID, s.config.RemovalPatience) {
		return nil
	}
	return cmp.Or(ctx.Err(), background.ErrLeft)
}

// shows reports whether the driver shows the instance of ref.
func shows(found []provider.Instance, ref provider.Ref) bool {
	return slices.ContainsFunc(found, func(i provider.Instance) bool { return identify(i.ProviderID) == identify(ref.ProviderID) })
}
