package plugin

import (
	"context"
	"errors"
)

// exit ends a program with a code; told says that all has been printed.
type exit struct {
	code int
	told bool
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// errChanges ends a plan of changes, as `kubectl diff` ends.
var errChanges = &exit{code: 1, told: true, err: errors.New("there are changes")}

// planFailed ends one that could not be made: a script must not take that for changes.
func planFailed(err error) error {
	if err == nil {
		return nil
	}
	return &exit{code: 2, err: err}
}

// ExitCode is the code that err ends a program with, and whether it has yet to be printed.
func ExitCode(err error) (code int, untold bool) {
	if err == nil {
		return 0, false
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code, !e.told
	}
	return 1, !errors.Is(err, ErrReported)
}

// Message is what a program prints of err before it ends.
func Message(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return err.Error()
}
