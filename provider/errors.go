package provider

import (
	"errors"
	"fmt"
	"time"
)

// Kind sorts failures by what the engine does about them, not by cause.
type Kind string

// The kinds of failure. An error that is not an [Error] counts as Transient.
const (
	// Transient: try again, backing off. The outcome of the call is unknown.
	Transient Kind = "Transient"
	// Throttled: too many requests; try again after Error.After.
	Throttled Kind = "Throttled"
	// Exhausted: quota or capacity is used up, and nothing was made; try again on a
	// slow clock. Another [Choice] is tried at once, and the owner may choose another
	// class meanwhile.
	Exhausted Kind = "Exhausted"
	// Invalid: no retry can succeed until the spec changes.
	Invalid Kind = "Invalid"
	// Denied: no retry can succeed until the credentials change. Never read
	// as "not there".
	Denied Kind = "Denied"
	// Conflict: another operation on the same thing is under way; try again
	// soon.
	Conflict Kind = "Conflict"
)

// Error is a classified failure. The message is Err's, so that wrapping an
// infrastructure's error does not bury what it said.
type Error struct {
	Kind Kind
	// After is how long to wait before trying again; zero leaves it to the
	// engine.
	After time.Duration
	// Field is the path of the offending field of the provider spec
	// ("spec.zone"); empty unless Kind is Invalid.
	Field string
	// Scope is what is used up; empty where that is not known, and unless Kind is
	// Exhausted.
	Scope Scope
	Err   error
}

// Scope is how far something is used up: who looks for another place need not look
// within it.
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

// ExhaustedIn makes an [Exhausted] error.
func ExhaustedIn(s Scope, format string, args ...any) *Error {
	return &Error{Kind: Exhausted, Scope: s, Err: fmt.Errorf(format, args...)}
}

// Error is Err's text, and the kind where a provider gave none.
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

// Errorf makes a classified error.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// InvalidField makes an [Invalid] error about the field at path.
func InvalidField(path, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Field: path, Err: fmt.Errorf(format, args...)}
}

// ThrottledFor makes a [Throttled] error that asks to wait.
func ThrottledFor(after time.Duration, err error) *Error {
	return &Error{Kind: Throttled, After: after, Err: err}
}

// ScopeOf returns how far what err says to be used up reaches: [ScopeType] where it
// does not say.
func ScopeOf(err error) Scope {
	if e, ok := errors.AsType[*Error](err); ok && e.Scope != "" {
		return e.Scope
	}
	return ScopeType
}

// KindOf classifies err: the kind of the first [Error] in its chain, else
// Transient. It is the empty string for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Transient
}

// AfterOf returns how long err asks to wait; zero when it does not say.
func AfterOf(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.After
	}
	return 0
}
