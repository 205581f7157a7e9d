package openshift_test

import (
	"context"
	"slices"
	"sync"

	machinev1 "github.com/openshift/api/machine/v1beta1"
)

// stub is an actuator with the test's functions; it records its calls. By default a call succeeds, and
// nothing exists.
type stub struct {
	create func(context.Context, *machinev1.Machine) error
	remove func(context.Context, *machinev1.Machine) error
	update func(context.Context, *machinev1.Machine) error
	exists func(context.Context, *machinev1.Machine) (bool, error)

	mu    sync.Mutex
	calls []string
}

func (s *stub) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// asked are the calls so far.
func (s *stub) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// count is the number of calls of a kind.
func (s *stub) count(call string) (n int) {
	for _, c := range s.asked() {
		if c == call {
			n++
		}
	}
	return n
}

func (s *stub) Create(ctx context.Context, m *machinev1.Machine) error {
	s.note("create")
	return answer(ctx, m, s.create)
}

func (s *stub) Delete(ctx context.Context, m *machinev1.Machine) error {
	s.note("delete")
	return answer(ctx, m, s.remove)
}

func (s *stub) Update(ctx context.Context, m *machinev1.Machine) error {
	s.note("update")
	return answer(ctx, m, s.update)
}

func (s *stub) Exists(ctx context.Context, m *machinev1.Machine) (bool, error) {
	s.note("exists")
	if s.exists == nil {
		return false, nil
	}
	return s.exists(ctx, m)
}

func answer(ctx context.Context, m *machinev1.Machine, call func(context.Context, *machinev1.Machine) error) error {
	if call == nil {
		return nil
	}
	return call(ctx, m)
}

func there(context.Context, *machinev1.Machine) (bool, error) { return true, nil }
