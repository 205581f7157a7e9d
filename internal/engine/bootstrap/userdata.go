// Package bootstrap prepares the data with which a new instance joins a cluster: the placeholders of its boot
// data, and the bootstrap token with which its kubelet introduces itself. It is pure; the effects are in
// internal/runtime/node.
package bootstrap

import (
	"bytes"
	"net/url"
)

// The placeholders of boot data. Each may also be URL-escaped ("%3C%3CBOOTSTRAP_TOKEN%3E%3E"), as in boot
// data that is itself escaped.
const (
	TokenPlaceholder = "<<BOOTSTRAP_TOKEN>>"
	NamePlaceholder  = "<<MACHINE_NAME>>"
)

// Values replace the placeholders.
type Values struct {
	// Token is "<id>.<secret>". If it is empty, for example without a cluster to join, its placeholder stays.
	Token string
	// MachineName is the API object's name.
	MachineName string
}

// NeedsToken reports whether the boot data has the placeholder of a token.
func NeedsToken(userData []byte) bool {
	return bytes.Contains(userData, []byte(TokenPlaceholder)) ||
		bytes.Contains(userData, []byte(url.QueryEscape(TokenPlaceholder)))
}

// Render returns a copy of the boot data with the values in place of the placeholders, and the placeholders
// that it did not find, for the caller to report; boot data without placeholders is valid. Render replaces
// every occurrence of the plain form. If there is no plain form, it replaces those of the escaped form by the
// escaped value.
func Render(userData []byte, v Values) (out []byte, absent []string) {
	out = bytes.Clone(userData)
	for _, r := range []struct{ placeholder, value string }{
		{TokenPlaceholder, v.Token},
		{NamePlaceholder, v.MachineName},
	} {
		if r.placeholder == TokenPlaceholder && r.value == "" {
			continue
		}
		var found bool
		if out, found = substitute(out, r.placeholder, r.value); !found {
			absent = append(absent, r.placeholder)
		}
	}
	return out, absent
}

func substitute(data []byte, placeholder, value string) ([]byte, bool) {
	plain, escaped := []byte(placeholder), []byte(url.QueryEscape(placeholder))
	if bytes.Contains(data, plain) {
		return bytes.ReplaceAll(data, plain, []byte(value)), true
	}
	if bytes.Contains(data, escaped) {
		return bytes.ReplaceAll(data, escaped, []byte(url.QueryEscape(value))), true
	}
	return data, false
}
