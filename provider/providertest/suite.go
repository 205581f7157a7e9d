package providertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Check is one requirement of the contract.
type Check struct {
	// Name is a few words; Reason says why the engine depends on it.
	Name, Reason string
	// Run returns nil, [Skip], or how the provider violates the requirement. It uses a cluster of its own
	// and does not clean up.
	Run func(ctx context.Context, h Harness, api string) error
}

// checkTimeout limits one check in real time: the slowest checks wait for a few instances of a simulator
// that runs in real time.
const checkTimeout = 2 * time.Minute

// Run runs every check for every API of the provider. Each check gets a new harness; an expensive
// infrastructure may be shared, since every check uses clusters of its own.
func Run(t *testing.T, setup func(t *testing.T) Harness) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			for _, api := range setup(t).apis() {
				t.Run(api, func(t *testing.T) { c.test(t, setup(t), api) })
			}
		})
	}
}

func (c Check) test(t *testing.T, h Harness, api string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), checkTimeout)
	defer cancel()
	err := c.Run(ctx, h, api)
	if s, ok := errors.AsType[skippedError](err); ok {
		t.Skip(s.reason)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Reason, err)
	}
}

// skippedError is the result of a check that does not apply.
type skippedError struct{ reason string }

func (s skippedError) Error() string { return s.reason }

// Skip is the error of a knob, or of a check, that this simulator does not support.
func Skip(reason string) error { return skippedError{reason} }

// Skipped reports whether err says that a check was skipped.
func Skipped(err error) bool {
	_, ok := errors.AsType[skippedError](err)
	return ok
}

func (h Harness) apis() []string {
	if len(h.APIs) > 0 {
		return h.APIs
	}
	return []string{provider.OpenShift, provider.Gardener}
}

// Checks returns the suite, simple requirements first.
func Checks() []Check {
	var all []Check
	for _, group := range [][]Check{
		lifecycleChecks(),
		identityChecks(),
		takeoverChecks(),
		repetitionChecks(),
		errorChecks(),
		faultChecks(),
		choiceChecks(),
		ownershipChecks(),
		accountChecks(),
		ownerChecks(),
		leftoverChecks(),
		specChecks(),
		capabilityChecks(),
	} {
		all = append(all, group...)
	}
	return all
}
