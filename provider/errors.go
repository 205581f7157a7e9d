package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind sorts failures by what the engine does about them, not by cause.
type Kind string

// The kinds of failure. The engine treats an error that is not an [Error] as Transient.
const (
	// Transient: try again, with backoff. The outcome of the call is unknown.
	Transient Kind = "Transient"
	// Throttled: too many requests; try again after Error.After.
	Throttled Kind = "Throttled"
	// Exhausted: a quota or the capacity is used up, and nothing was created; try again at long intervals.
	// The engine tries another [Choice] at once, and the owner may choose another class meanwhile.
	Exhausted Kind = "Exhausted"
	// Invalid: no retry can succeed until the spec changes.
	Invalid Kind = "Invalid"
	// Denied: no retry can succeed until the credentials change. It never means "not found".
	Denied Kind = "Denied"
	// Conflict: another operation on the same object is in progress; try again soon.
	Conflict Kind = "Conflict"
)

// Error is a classified failure. Its message is Err's, so that the infrastructure's own message is not
// hidden.
type Error struct {
	Kind Kind
	// After is how long to wait before the next try; with zero the engine decides.
	After time.Duration
	// Field is the path of the invalid field of the provider spec ("spec.zone"); empty unless Kind is
	// Invalid.
	Field string
	// Scope says how much is exhausted; empty if unknown, and unless Kind is Exhausted.
	Scope Scope
	Err   error
}

// Scope is the extent of an exhaustion: another place within it need not be tried.
type Scope string

// The scopes, narrowest first.
const (
	// ScopeType: instances of that type, in that zone.
	ScopeType Scope = "type"
	// ScopeZone: instances of any type, in that zone.
	ScopeZone Scope = "zone"
	// ScopeAccount: a quota of the account, in that region.
	ScopeAccount Scope = "account"
)

// ExhaustedIn returns an [Exhausted] error.
func ExhaustedIn(s Scope, format string, args ...any) *Error {
	return &Error{Kind: Exhausted, Scope: s, Err: fmt.Errorf(format, args...)}
}

// Error is Err's text, or the kind if Err is nil.
func (e *Error) Error() string {
	if e.Err == nil {
		return string(e.Kind)
	}
	if e.Field != "" {
		return fmt.Sprintf("%s: %v", e.Field, e.Err)
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns a classified error.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// InvalidField returns an [Invalid] error about the field at path.
func InvalidField(path, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Field: path, Err: fmt.Errorf(format, args...)}
}

// ThrottledFor returns a [Throttled] error with the time to wait.
func ThrottledFor(after time.Duration, err error) *Error {
	return &Error{Kind: Throttled, After: after, Err: err}
}

// ScopeOf returns the extent of the exhaustion that err reports: [ScopeType] if err does not say.
func ScopeOf(err error) Scope {
	if e, ok := errors.AsType[*Error](err); ok && e.Scope != "" {
		return e.Scope
	}
	return ScopeType
}

// KindOf returns the kind of the first [Error] in err's chain, or Transient. For nil it returns the empty
// string.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Transient
}

// AfterOf returns how long err asks to wait; zero if it does not say.
func AfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}
