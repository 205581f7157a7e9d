package providertest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// faulty is a provider with injected faults.
type faulty struct {
	provider.Provider
	faults *Faults
}

func (p *faulty) Unwrap() any { return p.Provider }

func (p *faulty) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	var s provider.Session
	err := p.faults.visit(ctx, Open, func(ctx context.Context) (err error) {
		s, err = p.Provider.Open(ctx, class)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &faultySession{Session: s, faults: p.faults, cluster: class.Cluster}, nil
}

// faultySession adds the lasting faults to those of single calls: lag and duplicates.
type faultySession struct {
	provider.Session
	faults  *Faults
	cluster string
}

func (s *faultySession) Unwrap() any { return s.Session }

// mark has the times at which an instance was created and removed through the faults.
type mark struct {
	made, removed time.Time
	// was is the instance before its removal.
	was provider.Instance
}

func (s *faultySession) key(id string) string { return s.cluster + "/" + id }

// twinSuffix turns a UID into that of the duplicate. For the infrastructure the duplicate belongs to
// another machine; the session shows it under the same one.
const twinSuffix = "-twin"

func (s *faultySession) twin(ref provider.Ref) (provider.Ref, bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	there := s.faults.twins[s.key(ref.UID)]
	ref.UID += twinSuffix
	ref.ProviderID = ""
	return ref, there
}

func (s *faultySession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	fault := s.faults.next(Create)
	var made provider.Instance
	err := s.faults.happen(ctx, Create, fault, func(ctx context.Context) (err error) {
		if made, err = s.make(ctx, ref, want); err != nil || !fault.Duplicate {
			return err
		}
		twin, _ := s.twin(ref)
		_, err = s.make(ctx, twin, want)
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		s.faults.twins[s.key(ref.UID)] = true
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return made, nil
}

// make creates an instance and records the time: an existing instance that is returned again keeps its
// mark.
func (s *faultySession) make(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	i, err := s.Session.Create(ctx, ref, want)
	if err != nil {
		return i, err
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if _, ok := s.faults.marks[s.key(i.ID)]; !ok {
		s.faults.marks[s.key(i.ID)] = mark{made: s.faults.clock.Now()}
	}
	return i, nil
}

func (s *faultySession) Find(ctx context.Context, ref provider.Ref) (found []provider.Instance, err error) {
	err = s.faults.visit(ctx, Find, func(ctx context.Context) error {
		found, err = s.findAll(ctx, ref)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.lagging(found, func(i provider.Instance) bool { return i.UID == ref.UID }), nil
}

// findAll finds the instances of ref and its duplicate.
func (s *faultySession) findAll(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, err := s.Session.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if twin, ok := s.twin(ref); ok {
		more, err := s.Session.Find(ctx, twin)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func (s *faultySession) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	err = s.faults.visit(ctx, Delete, func(ctx context.Context) error {
		done, err = s.deleteAll(ctx, ref, instances)
		return err
	})
	return done && err == nil, err
}

// deleteAll removes the instances of ref and its duplicate.
func (s *faultySession) deleteAll(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	s.noteRemoval(instances)
	if ref.UID == "" {
		return s.Session.Delete(ctx, ref, s.realTwins(instances))
	}
	done, err := s.Session.Delete(ctx, ref, instances)
	if err != nil {
		return false, err
	}
	twin, ok := s.twin(ref)
	if !ok {
		return done, nil
	}
	gone, err := s.Session.Delete(ctx, twin, nil)
	return done && gone && err == nil, err
}

// realTwins adds the infrastructure's form of instances that may be twins. One of each two does not exist
// and has no effect.
func (s *faultySession) realTwins(instances []provider.Instance) []provider.Instance {
	out := slices.Clone(instances)
	for _, i := range instances {
		if twin, there := s.twin(provider.Ref{UID: i.UID}); there {
			i.UID = twin.UID
			out = append(out, i)
		}
	}
	return out
}

// noteRemoval stores the instances that lagging readers still see.
func (s *faultySession) noteRemoval(instances []provider.Instance) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, i := range instances {
		m := s.faults.marks[s.key(i.ID)]
		if m.removed.IsZero() && i.Exists() {
			m.removed, m.was = s.faults.clock.Now(), i
			s.faults.marks[s.key(i.ID)] = m
		}
	}
}

func (s *faultySession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	fault := s.faults.next(List)
	return func(yield func(provider.Instance, error) bool) {
		var all []provider.Instance
		err := s.faults.happen(ctx, List, Fault{Slow: fault.Slow, Stall: fault.Stall}, func(ctx context.Context) error {
			for i, err := range s.Session.List(ctx) {
				if err != nil {
					return err
				}
				all = append(all, i)
			}
			return nil
		})
		if err == nil {
			err = fault.err(List)
			all = s.lagging(all, func(provider.Instance) bool { return true })
		}
		if err != nil {
			all = all[:min(fault.Partial, len(all))]
		}
		for _, i := range all {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(provider.Instance{}, err)
		}
	}
}

// lagging turns the existing instances into the view of a lagging reader: without the newest, and with
// those that were just removed and belong to the answer. Twins appear under the UID of their machine.
func (s *faultySession) lagging(found []provider.Instance, belongs func(provider.Instance) bool) []provider.Instance {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	since := s.faults.clock.Now().Add(-s.faults.lag)
	var seen []provider.Instance
	for _, i := range found {
		i.UID = strings.TrimSuffix(i.UID, twinSuffix)
		if m := s.faults.marks[s.key(i.ID)]; !m.made.After(since) && !m.removed.After(since) {
			seen = append(seen, i)
		}
	}
	var ghosts []provider.Instance
	for key, m := range s.faults.marks {
		mine := strings.HasPrefix(key, s.cluster+"/") && !m.made.After(since)
		if mine && m.removed.After(since) && belongs(m.was) {
			ghosts = append(ghosts, m.was)
		}
	}
	// The marks are unordered; answers are ordered.
	slices.SortFunc(ghosts, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
	return append(seen, ghosts...)
}
