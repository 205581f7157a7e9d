package provider

import "strings"

// SameInstance reports whether two provider IDs name one instance of s: aws:///eu-1a/i-1 and
// aws:///eu-1/i-1 are the same. An empty one names nothing. To compare many, call [Identifier] once.
func SameInstance(s Session, a, b string) bool {
	identify := Identifier(s)
	name := identify(a)
	return name != "" && name == identify(b)
}

// Identifier returns the function that reads provider IDs: [Traits].Identify of s. If s is nil or has none,
// the scheme and the text after the last slash identify the instance, regardless of case.
func Identifier(s Session) func(providerID string) string {
	if s != nil {
		if identify := s.Traits().Identify; identify != nil {
			return identify
		}
	}
	return bySchemeAndTail
}

func bySchemeAndTail(providerID string) string {
	scheme, _, ok := strings.Cut(providerID, "://")
	tail := Tail(providerID)
	if !ok || scheme == "" || tail == "" {
		return ""
	}
	return strings.ToLower(scheme) + "://" + tail
}

// Tail is the part that all provider IDs of one instance share in all formats: the infrastructure's
// identifier, after the last slash, in lower case. The same instance may be aws:///eu-1a/i-1 here and
// aws:///eu-1/i-1 there, or azure:///.../VM-1 and azure:///.../vm-1. Different instances may share a tail.
func Tail(providerID string) string {
	return strings.ToLower(providerID[strings.LastIndexByte(providerID, '/')+1:])
}
