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

// end has the driver remove the targets, or, where there are none, what is left of ref by its name. What the driver has removed is
// asked for again only after a while: it shows some instances long after their end.
func (s *work) end(ctx context.Context, ref provider.Ref, name string, targets []provider.Instance) error {
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

// left is [beside.ErrLeft] where the driver still shows what it has removed, as long as that is no reason to believe it. One that has
// neither status nor listing is believed at once.
//
// A driver's contract is that DeleteMachine succeeds once nothing is left. Some succeed earlier, so that what they show is waited
// for; and some show what has ended, or fail when they are asked for its status, for as long as the infrastructure remembers it.
// So a removal that succeeded twice is done where the listing lacks the instance for as long as it may run behind, and after
// the patience of the settings whatever is shown. Credentials that are refused say nothing of it: that is told, and waited for.
func (s *work) left(ctx context.Context, ref provider.Ref) error {
	found, a, err := s.status(ctx, ref)
	if err == nil && a == told && !shows(found, ref) {
		return nil
	}
	if provider.KindOf(err) == provider.Denied {
		return err
	}
	listed, unlisted := s.listed(ctx)
	switch {
	case errors.Is(unlisted, errNoListing) && err == nil && a != told:
		return nil
	case errors.Is(unlisted, errNoListing):
	case provider.KindOf(unlisted) == provider.Denied:
		return unlisted
	case unlisted == nil && !shows(listed, ref) && (err == nil && a != told || s.removals.repeated(ref.ProviderID, s.config.ReadLag)):
		return nil
	}
	if s.removals.repeated(ref.ProviderID, s.config.RemovalPatience) {
		return nil
	}
	return cmp.Or(ctx.Err(), beside.ErrLeft)
}

// shows reports whether the instance of ref is among those that the driver shows.
func shows(found []provider.Instance, ref provider.Ref) bool {
	return slices.ContainsFunc(found, func(i provider.Instance) bool { return identify(i.ProviderID) == identify(ref.ProviderID) })
}
