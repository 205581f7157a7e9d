package double

import (
	"path"
	"slices"
	"sync"
)

// Credentials are the credentials that a cloud accepts. A cloud embeds them, and so implements the methods Revoke and Restore
// of [Lender]. They are safe for concurrent use.
type Credentials[C any] struct {
	mu             sync.Mutex
	valid, revoked []C
	first          func(C) bool
	acceptAny      bool
	shut           bool
}

// NewCredentials returns valid credentials. first reports whether one belongs to the first account; nil: each of them does.
// acceptAny: unknown credentials are accepted too, until Revoke.
func NewCredentials[C any](acceptAny bool, first func(C) bool, valid ...C) *Credentials[C] {
	if first == nil {
		first = func(C) bool { return true }
	}
	return &Credentials[C]{valid: slices.Clone(valid), first: first, acceptAny: acceptAny}
}

// Find returns the first valid credential for which is returns true.
func (c *Credentials[C]) Find(is func(C) bool) (found C, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := slices.IndexFunc(c.valid, is); n >= 0 {
		return c.valid[n], true
	}
	return found, false
}

// Valid are the valid credentials.
func (c *Credentials[C]) Valid() []C {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.valid)
}

// SetCredentials replaces the valid credentials.
func (c *Credentials[C]) SetCredentials(valid ...C) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid = slices.Clone(valid)
}

// Add adds valid credentials.
func (c *Credentials[C]) Add(more ...C) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid = append(c.valid, more...)
}

// Change changes copies of the valid credentials.
func (c *Credentials[C]) Change(change func(*C)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.valid {
		change(&c.valid[n])
	}
}

// Remove removes the credentials for which is returns true.
func (c *Credentials[C]) Remove(is func(C) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid = slices.DeleteFunc(c.valid, is)
}

// AcceptsUnknown reports whether unknown credentials are accepted.
func (c *Credentials[C]) AcceptsUnknown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acceptAny && !c.shut
}

// Revoke revokes the credentials of the first account, and unknown credentials.
func (c *Credentials[C]) Revoke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	c.valid = slices.DeleteFunc(c.valid, func(v C) bool {
		if c.first(v) {
			c.revoked = append(c.revoked, v)
		}
		return c.first(v)
	})
}

// Restore undoes Revoke.
func (c *Credentials[C]) Restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid, c.revoked, c.shut = append(c.valid, c.revoked...), nil, false
}

// Permitted reports whether a caller may call an operation. deny and allow are patterns of [path.Match] for operations that the
// caller must not call, and for the only ones that it may call. Without allow, it may call all others.
func Permitted(operation string, allow, deny []string) bool {
	matches := func(pattern string) bool {
		ok, _ := path.Match(pattern, operation)
		return ok
	}
	return (len(allow) == 0 || slices.ContainsFunc(allow, matches)) && !slices.ContainsFunc(deny, matches)
}
