package provider

import "strings"

// Identifier is a Session that reads provider IDs. One instance may be spelled
// in several ways: each API has its own format, formats have changed in the
// course of time, and infrastructures do not agree with themselves on case.
type Identifier interface {
	// Identify returns what names the instance for which providerID stands: the
	// same for each of its spellings, and another for every other instance. It is
	// empty where providerID can name no instance of this infrastructure. Only
	// the spec of the class and the text are looked at: no call is made.
	Identify(providerID string) string
}

// SameInstance reports whether two provider IDs name one instance, as s reads
// them. Where s is no [Identifier], the scheme and what follows the last slash
// decide, in whatever case: aws:///eu-1a/i-1 and aws:///eu-1/i-1 are the same.
// An empty one names nothing.
func SameInstance(s Session, a, b string) bool {
	name := Identify(s, a)
	return name != "" && name == Identify(s, b)
}

// Identify is what [Identifier] says, or its stand-in of [SameInstance].
func Identify(s Session, providerID string) string {
	if r, ok := As[Identifier](s); ok {
		return r.Identify(providerID)
	}
	scheme, _, ok := strings.Cut(providerID, "://")
	tail := Tail(providerID)
	if !ok || scheme == "" || tail == "" {
		return ""
	}
	return strings.ToLower(scheme) + "://" + tail
}

// Tail is what the provider IDs of one instance have in common in all formats: the
// infrastructure's identifier, after the last slash, in lower case. The same
// instance may read aws:///eu-1a/i-1 here and aws:///eu-1/i-1 there, or
// azure:///.../VM-1 and azure:///.../vm-1. Different instances may share it.
func Tail(providerID string) string {
	return strings.ToLower(providerID[strings.LastIndexByte(providerID, '/')+1:])
}

// Comparer is a Session that can tell what its class would make otherwise now.
type Comparer interface {
	// Differences are what i was made with and what the class says instead, a
	// line for each that begins with the path of the field:
	//
	//	instanceType: the instance has "small", the spec says "large"
	//
	// None for an instance that Create has just made. What the instance does not
	// show is no difference.
	Differences(ref Ref, i Instance) []string
}
