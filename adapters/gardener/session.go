package gardener

import (
	"cmp"
	"context"
	"iter"

	"github.com/millwright-dev/millwright/adapters/internal/beside"
	"github.com/millwright-dev/millwright/provider"
)

// session is a class opened. What it asks of a driver is in its parts: who only looks, and who works beside the workers.
type session struct {
	provider.Base
	work
}

var (
	_ provider.Session     = &session{}
	_ provider.Initializer = &session{}
)

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{ReadLag: s.config.ReadLag, Identify: identify}
}

// Status implements [provider.Session]: what the driver last said of the machine's state.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if one, ok := s.memory.whose(i.ProviderID); ok && one.lastKnownState != "" {
		return []byte(one.lastKnownState), nil
	}
	return nil, nil
}

// What a driver's call changes.
const (
	looking      = "look"
	creating     = "creation"
	initializing = "initialization"
	deleting     = "removal"
)

// key is what one call at a time is made for: instances go by the machine's name.
func (s *work) key(name string) string { return s.class.Cluster + "/" + name }

// listKey is what one listing at a time is asked for.
func (s *work) listKey() string {
	return s.key(s.class.Object.Namespace + "/" + s.class.Object.Name + " listing")
}

// changing notes that the driver begins to change something of the name; what is returned, that it has ended.
func (s *work) changing(name string) (ended func()) {
	touch := func() { s.looks.touch(s.key(name)); s.looks.touch(s.listKey()) }
	touch()
	return touch
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	s.doubt.Met()
	task := beside.Task{Verb: looking, UID: ref.UID, What: ref.ProviderID + " " + s.digest}
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
			found[n] = during(c, found[n])
		}
	}
	if len(found) == 0 && c.Verb == creating && c.UID == ref.UID {
		found = append(found, s.expected(ref, c))
	}
	return found, nil
}

// during is an instance with which the driver is at work.
func during(c *beside.Call, i provider.Instance) provider.Instance {
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

// expected is the instance that the driver is about to make.
func (s *session) expected(ref provider.Ref, c *beside.Call) provider.Instance {
	return provider.Instance{
		ID: ref.Name, UID: ref.UID, Name: ref.Name, Owner: s.class.Owner, Namespace: ref.Namespace,
		State: provider.Pending, RawState: c.Verb, Created: c.Began,
	}
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		listed, err := s.looks.ask(ctx, s.listKey(), beside.Task{Verb: looking, What: s.digest}, s.listed)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for _, i := range listed {
			if c := s.calls.Of(s.key(i.Name)); c != nil && c.UID == i.UID && i.Exists() {
				i = during(c, i)
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}
