package plugin

import (
	"context"
	"errors"
)

// exit is an error that ends a program with an exit code. If told is true, the program does not print the error.
type exit struct {
	code int
	told bool
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// errChanges ends a plan that has changes, with the exit code of `kubectl diff`.
var errChanges = &exit{code: 1, told: true, err: errors.New("there are changes")}

// planFailed returns err with exit code 2. Exit code 1 means that a plan has changes, or that preflight found an
// obstacle.
func planFailed(err error) error {
	if err == nil {
		return nil
	}
	return &exit{code: 2, err: err}
}

// ExitCode returns the exit code for err, and whether the program must still print err.
func ExitCode(err error) (code int, untold bool) {
	if err == nil {
		return 0, false
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code, !e.told
	}
	return 1, !errors.Is(err, ErrReported)
}

// Message returns the text of err that a program prints before it ends.
func Message(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}
