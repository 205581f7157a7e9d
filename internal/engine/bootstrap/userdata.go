// Package bootstrap prepares what a new instance needs to join a cluster: the
// placeholders of its boot data, and the bootstrap token with which its kubelet
// introduces itself. It is pure; the effects are in internal/runtime/node.
package bootstrap

import (
	"bytes"
	"net/url"
)

// The placeholders of boot data. Each may also stand there in URL-escaped form
// ("%3C%3CBOOTSTRAP_TOKEN%3E%3E"), as in boot data that is itself escaped.
const (
	TokenPlaceholder = "<<BOOTSTRAP_TOKEN>>"
	NamePlaceholder  = "<<MACHINE_NAME>>"
)

// Values are what takes the places.
type Values struct {
	// Token is "<id>.<secret>"; empty leaves its placeholder alone, as when
	// there is no cluster to join.
	Token string
	// MachineName is the API object's name.
	MachineName string
}

// NeedsToken reports whether the boot data has a place for a token.
func NeedsToken(userData []byte) bool {
	return bytes.Contains(userData, []byte(TokenPlaceholder)) ||
		bytes.Contains(userData, []byte(url.QueryEscape(TokenPlaceholder)))
}

// Render puts the values into a copy of the boot data and reports the
// placeholders it did not find, for the caller to mention; boot data without
// placeholders is valid. All occurrences of the plain form are replaced; only
// where there is none, those of the escaped form, by the escaped value.
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
