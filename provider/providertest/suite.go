package providertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Check is one demand on a provider.
type Check struct {
	// Name is a few words; Reason says why the engine depends on it.
	Name, Reason string
	// Run returns nil, [Skip], or what the provider did wrong. It uses a
	// cluster of its own and leaves the infrastructure as it likes.
	Run func(ctx context.Context, h Harness, api string) error
}

// checkTimeout bounds one check in real time: the slowest wait for a few
// instances of a double that runs in real time.
const checkTimeout = 2 * time.Minute

// Run runs every check for every API of the provider. The harness is made
// anew for each check; a costly infrastructure may be shared, since every check
// uses clusters of its own.
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

// skippedError is a check that says nothing about the provider.
type skippedError struct{ reason string }

func (s skippedError) Error() string { return s.reason }

// Skip is the error of a knob, or of a check, that cannot do what it is asked
// with this double.
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

// Checks returns the suite, simple demands first.
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
