package gardener

import (
	"cmp"
	"context"
	"iter"

	"github.com/millwright-dev/millwright/adapters/internal/background"
	"github.com/millwright-dev/millwright/provider"
)

// session is an open class. Its reader only reads; its executor calls the driver in the background.
type session struct {
	provider.Base
	executor
}

var (
	_ provider.Session     = &session{}
	_ provider.Initializer = &session{}
)

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{ReadLag: s.config.ReadLag, Identify: identify}
}

// Status implements [provider.Session] with the driver's last state of the machine.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if one, ok := s.memory.machineOf(i.ProviderID); ok && one.lastKnownState != "" {
		return []byte(one.lastKnownState), nil
	}
	return nil, nil
}

// The subjects that a driver's call changes.
const (
	looking      = "look"
	creating     = "creation"
	initializing = "initialization"
	deleting     = "removal"
)

// key is the key of changing calls, of which one runs at a time: instances are identified by the machine's
// name.
func (s *executor) key(name string) string { return s.class.Cluster + "/" + name }

// listKey is the key of listings, of which one runs at a time.
func (s *executor) listKey() string {
	return s.key(s.class.Object.Namespace + "/" + s.class.Object.Name + " listing")
}

// changing records the beginning of a change to the name; the returned function records its end.
func (s *executor) changing(name string) (ended func()) {
	touch := func() { s.looks.touch(s.key(name)); s.looks.touch(s.listKey()) }
	touch()
	return touch
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	s.startupLag.Remaining()
	task := background.Task{Verb: looking, UID: ref.UID, What: ref.ProviderID + " " + s.digest}
	found, err := s.looks.ask(ctx, s.key(ref.Name), task, func(ctx context.Context) ([]provider.Instance, error) { return s.look(ctx, ref) })
	if err != nil {
		return nil, err
	}
	c := s.calls.Of(s.key(ref.Name))
	if c == nil {
		return found, nil
	}
	for n := range found {
		if found[n].Exists() && found[n].Name == ref.Name && (found[n].UID == ref.UID || found[n].UID == "") {
			found[n] = inProgress(c, found[n])
		}
	}
	if len(found) == 0 && c.Verb == creating && c.UID == ref.UID {
		found = append(found, s.expected(ref, c))
	}
	return found, nil
}

// inProgress is an instance during a call of the driver.
func inProgress(c *background.Call, i provider.Instance) provider.Instance {
	i.State, i.RawState = provider.Pending, c.Verb
	if c.Verb == deleting {
		i.State = provider.Stopping
	}
	if c.Verb != initializing {
		i.UID = cmp.Or(i.UID, c.UID)
	}
	i.Uninitialized = false
	return i
}

// expected is the instance that the driver is creating.
func (s *session) expected(ref provider.Ref, c *background.Call) provider.Instance {
	return provider.Instance{
		ID: ref.Name, UID: ref.UID, Name: ref.Name, Owner: s.class.Owner, Namespace: ref.Namespace,
		State: provider.Pending, RawState: c.Verb, Created: c.Began,
	}
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		listed, err := s.looks.ask(ctx, s.listKey(), background.Task{Verb: looking, What: s.digest}, s.listed)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for _, i := range listed {
			if c := s.calls.Of(s.key(i.Name)); c != nil && c.UID == i.UID && i.Exists() {
				i = inProgress(c, i)
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}
