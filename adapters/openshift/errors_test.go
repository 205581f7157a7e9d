package openshift_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"

	"github.com/millwright-dev/millwright/adapters/openshift"
	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/provider"
)

// timedError has a field RequeueAfter that is not a duration.
type timedError struct{ RequeueAfter string }

func (timedError) Error() string { return "soon" }

// reasonedError has a field Reason without one of the API's reasons.
type reasonedError struct{ Reason string }

func (reasonedError) Error() string { return "InvalidConfiguration" }

// TestErrorsAreReadByTheirFields: the types of the errors belong to packages of the original, and may be
// wrapped.
func TestErrorsAreReadByTheirFields(t *testing.T) {
	reason := func(r machinev1.MachineStatusError) error { return &reference.MachineError{Reason: r, Message: "m"} }
	for _, c := range []struct {
		reason string
		err    error
		kind   provider.Kind
		after  time.Duration
	}{
		{"no failure", nil, "", 0},
		{"a configuration that no retry mends", reason(machinev1.InvalidConfigurationMachineError), provider.Invalid, 0},
		{"wrapped", fmt.Errorf("create: %w", reason(machinev1.InvalidConfigurationMachineError)), provider.Invalid, 0},
		{"joined", errors.Join(errors.New("other"), reason(machinev1.InvalidConfigurationMachineError)), provider.Invalid, 0},
		{"nothing left to take", reason(machinev1.InsufficientResourcesMachineError), provider.Exhausted, 0},
		{"a creation that failed", reason(machinev1.CreateMachineError), provider.Transient, 0},
		{"later", &reference.RequeueAfterError{RequeueAfter: 20 * time.Second}, provider.Conflict, 20 * time.Second},
		{"later, wrapped", fmt.Errorf("task: %w", &reference.RequeueAfterError{RequeueAfter: time.Minute}), provider.Conflict, time.Minute},
		{"without a word", errors.New("boom"), provider.Transient, 0},
		{"a field of the name and another type", timedError{"1m"}, provider.Transient, 0},
		{"a reason that is none of the API's", reasonedError{"InvalidConfiguration"}, provider.Transient, 0},
		{"called off", context.Canceled, provider.Transient, 0},
		{"classified already", provider.Errorf(provider.Denied, "no"), provider.Denied, 0},
	} {
		got := openshift.Classified(c.err)
		if provider.KindOf(got) != c.kind || provider.AfterOf(got) != c.after {
			t.Errorf("%s: %v comes out as %q after %v, want %q after %v", c.reason, c.err, provider.KindOf(got), provider.AfterOf(got), c.kind, c.after)
		}
		if c.err != nil && got.Error() != c.err.Error() {
			t.Errorf("%s: it reads %q, and was %q", c.reason, got, c.err)
		}
	}
}
